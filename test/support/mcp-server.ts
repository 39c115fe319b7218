import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer, type CallToolResult, type Tool } from '@modelcontextprotocol/server';

export interface TestTool {
  name: string;
  description?: string;
  inputSchema?: Tool['inputSchema'];
  annotations?: Tool['annotations'];
  /** Gets the arguments, and is aborted when the client gives up. */
  run?: (args: Record<string, unknown>, signal: AbortSignal) => Promise<CallToolResult> | CallToolResult;
}

/** A request that the server got. */
export interface McpRequest {
  httpMethod: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** `tools/call`; empty if there is no body. */
  method: string;
  /** The id of a request of the protocol. */
  id: unknown;
  /** The name of a tool. */
  name: string | null;
}

/**
 * `current`: the protocol of 2026-07-28 and, without sessions, those before; `sessions`: those before with sessions;
 * `sse`: HTTP with SSE, as of 2024-11-05.
 */
export type McpEra = 'current' | 'sessions' | 'sse';

/** The least that a tool says. */
export const said = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

/** An MCP server on this machine, by the SDK of the protocol. */
export class TestMcpServer {
  readonly requests: McpRequest[] = [];
  tools: TestTool[];
  /** Answers in place of the server if it returns true. */
  intercept: (request: McpRequest, response: ServerResponse) => boolean = () => false;
  /** Awaited before each answer. */
  hold: () => Promise<void> = () => Promise.resolve();
  readonly #era: McpEra;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #handler = createMcpHandler(() => this.#create());
  readonly #current = toNodeHandler(this.#handler);
  readonly #sessions = new Map<string, { transport: NodeStreamableHTTPServerTransport; server: McpServer }>();
  readonly #streams = new Map<string, ServerResponse>();

  private constructor(tools: TestTool[], era: McpEra) {
    this.tools = tools;
    this.#era = era;
  }

  static async start(tools: TestTool[], era: McpEra = 'current', host = '127.0.0.1'): Promise<TestMcpServer> {
    const server = new TestMcpServer(tools, era);
    server.#server.listen(0, host);
    await once(server.#server, 'listening');
    return server;
  }

  get url(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `http://${address}:${port}/mcp`;
  }

  /** Requests by the method of the protocol. */
  of(method: string): McpRequest[] {
    return this.requests.filter((request) => request.method === method);
  }

  /** Says that the list of tools has changed, to all that listen. */
  announceTools(): void {
    this.#handler.notify.toolsChanged();
    for (const { server } of this.#sessions.values()) server.sendToolListChanged();
  }

  /** Forgets the sessions, as a restart does. */
  async endSessions(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const { transport } of sessions) await transport.close();
  }

  async stop(): Promise<void> {
    await this.endSessions();
    await this.#handler.close();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = parse(Buffer.concat(chunks).toString());
    const { method = '', id, params } = Object(body) as McpBody;
    const { headers } = request;
    const { method: httpMethod = '', url: path = '' } = request;
    const got = { httpMethod, path, headers, method, id, name: params?.name ?? null };
    this.requests.push(got);
    await this.hold();
    if (this.intercept(got, response)) return;
    if (this.#era === 'sessions') await this.#serveSession(request, response, body);
    else if (this.#era === 'sse') this.#serveSse(request, response, body);
    // Requests of a server always have a method and a URL.
    else await this.#current(request as IncomingMessage & { method: string; url: string }, response, body);
  }

  async #serveSession(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? this.#sessions.get(id) : undefined;
    const { method } = Object(body) as { method?: string };
    const isInitialize = method === 'initialize';
    if (known === undefined && !isInitialize) {
      const error = { jsonrpc: '2.0', error: { code: -32000, message: 'No session' }, id: null };
      const status = id === undefined ? 400 : 404;
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(error));
      return;
    }
    const session = known ?? (await this.#begin());
    await session.transport.handleRequest(request, response, body);
  }

  async #begin(): Promise<{ transport: NodeStreamableHTTPServerTransport; server: McpServer }> {
    const server = this.#create();
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void this.#sessions.set(id, { transport, server }),
    });
    await server.connect(transport);
    return { transport, server };
  }

  /** A stream for what the server says, whose first event names where the client posts to. */
  #serveSse(request: IncomingMessage, response: ServerResponse, body: unknown): void {
    const { pathname, searchParams } = new URL(request.url ?? '', this.url);
    if (request.method === 'GET') {
      const id = randomUUID();
      this.#streams.set(id, response);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: endpoint\ndata: /messages?id=${id}\n\n`);
      return;
    }
    const stream = this.#streams.get(searchParams.get('id') ?? '');
    if (pathname !== '/messages' || stream === undefined) {
      response.writeHead(405).end();
      return;
    }
    response.writeHead(202).end();
    void this.#answerPlainly(body).then((result) => {
      if (result !== null) stream.write(`event: message\ndata: ${JSON.stringify(result)}\n\n`);
    });
  }

  async #answerPlainly(body: unknown): Promise<object | null> {
    const { id, method, params } = body as { id?: number; method: string; params?: Record<string, unknown> };
    if (id === undefined) return null;
    const answer = (result: unknown): object => ({ jsonrpc: '2.0', id, result });
    if (method === 'initialize')
      return answer({
        protocolVersion: '2024-11-05',
        capabilities: { tools: {} },
        serverInfo: { name: 'old', version: '1' },
      });
    if (method === 'tools/list') return answer({ tools: this.#listed() });
    return answer(await this.#call(params ?? {}, new AbortController().signal));
  }

  #create(): McpServer {
    const made = new McpServer(
      { name: 'test', version: '1.0.0' },
      { capabilities: { tools: { listChanged: true } } },
    );
    const { server } = made;
    server.setRequestHandler('tools/list', () => ({ tools: this.#listed() }));
    server.setRequestHandler('tools/call', ({ params }, { mcpReq }) =>
      this.#call({ ...params }, mcpReq.signal),
    );
    return made;
  }

  #listed(): Tool[] {
    return this.tools.map(({ run: _run, inputSchema = { type: 'object' }, ...tool }) => ({
      ...tool,
      inputSchema,
    }));
  }

  async #call(params: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult> {
    const tool = this.tools.find(({ name }) => name === params['name']);
    if (tool === undefined) return { content: [{ type: 'text', text: 'Unknown tool' }], isError: true };
    const args = (params['arguments'] ?? {}) as Record<string, unknown>;
    return (await tool.run?.(args, signal)) ?? said(`${tool.name} ${JSON.stringify(args)}`);
  }
}

interface McpBody {
  method?: string;
  id?: unknown;
  params?: { name?: string };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
