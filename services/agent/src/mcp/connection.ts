import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import {
  Client,
  ProtocolError,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type jsonSchemaValidator,
  type JsonSchemaValidatorResult,
  type ListToolsResult,
  type ReconnectionScheduler,
  type Tool,
} from '@modelcontextprotocol/client';
import type { McpTransport } from '@gatehouse/contract/mcp-servers';
import { judgedSchema } from '@gatehouse/dialects/translation/schema/tool-schema';
import type { Egress } from '@gatehouse/egress/egress';
import { version } from '@gatehouse/kit/version';
import { bearerFetch } from './bearer-fetch.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { egressFetch } from './egress-fetch.ts';
import { causesOf, mcpFailure } from './failure.ts';
import type { McpTool } from './mcp-tool.ts';
import type { MessageReader } from './message-reader.ts';
import { pageBytesKey, reasonKey, schemaKey } from './rpc-message.ts';
import type { ServerAccess } from './server-access.ts';
import { digestOf } from './tool-review.ts';
import { maxAnswerBytes, maxListBytes, maxNameChars, maxPages, maxTools, judgedAtOnce } from '../bounds.ts';

export interface ConnectionOptions {
  egress: Egress;
  reader: MessageReader;
  tenantId: string;
  url: string;
  transport: McpTransport;
  /** The authentication of each request. */
  access: Pick<ServerAccess, 'headers' | 'tokens'>;
  /** For each request. */
  timeoutMs: number;
  /** Called when the server reports a change of its list of tools. */
  onToolsChanged?: () => void;
}

/** The tools of a server. */
export interface ToolList {
  tools: McpTool[];
  /** The lifetime of the list according to the server; null without one. */
  ttlMs: number | null;
}

/** The result of a call of a tool. */
export interface ToolResult {
  /** Its content as text. */
  text: string;
  /** Whether the tool reports a failure. */
  isError: boolean;
}

/** Results go to models, not to code: a schema of the server must not make the gateway run its patterns. */
const anything: jsonSchemaValidator = {
  getValidator<T>(): (input: unknown) => JsonSchemaValidatorResult<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

/** A connection to an MCP server, of any protocol version from 2024-11-05 to 2026-07-28. */
export class McpConnection {
  readonly #client: Client;
  readonly #timeoutMs: number;
  /** Why the gateway has ended it. */
  #fault: unknown;
  #closed = false;

  private constructor(client: Client, timeoutMs: number) {
    this.#client = client;
    this.#timeoutMs = timeoutMs;
    client.onclose = this.#noteClosed.bind(this);
  }

  /** Connects by the transport, or by the first working one of both. Throws `McpFailure`. */
  static async connect(options: ConnectionOptions, signal: AbortSignal): Promise<McpConnection> {
    const { transport } = options;
    try {
      if (transport !== 'auto') return await connectBy(transport, options, signal);
      return await connectBy('streamable_http', options, signal).catch((error: unknown) => {
        // Servers with SSE alone answer the first request with an error of the client (the specification's rule).
        if (!isClientError(error)) throw error;
        return connectBy('sse', options, signal);
      });
    } catch (error) {
      throw mcpFailure(error);
    }
  }

  static over(client: Client, timeoutMs: number): McpConnection {
    return new McpConnection(client, timeoutMs);
  }

  /** Ends it because of what the server sent. */
  end(fault: unknown): void {
    this.#fault ??= fault;
    void this.close();
  }

  get fault(): unknown {
    return this.#fault;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  get protocolVersion(): string | null {
    return this.#client.getNegotiatedProtocolVersion() ?? null;
  }

  /** Throws `McpFailure`. */
  async listTools(signal: AbortSignal): Promise<ToolList> {
    if (this.#client.getServerCapabilities()?.tools === undefined) return { tools: [], ttlMs: null };
    const options = { signal, timeout: this.#timeoutMs, maxTotalTimeout: this.#timeoutMs };
    const list = new ToolCollection();
    try {
      // Servers also end a list by an empty cursor or by the one before (Wazuh-MCP-Server#75, codebase-memory-mcp#1247).
      const known = new Set<string | undefined>(['', undefined]);
      let params: { cursor?: string } = {};
      for (let page = 0; page < maxPages && !list.isFull; page += 1) {
        const listed = await this.#client.request({ method: 'tools/list', params }, options);
        list.add(listed);
        const { nextCursor: cursor } = listed;
        if (cursor === undefined || known.has(cursor)) break;
        known.add(cursor);
        params = { cursor };
      }
      return await judged(list.collected);
    } catch (error) {
      throw mcpFailure(this.#fault ?? error);
    }
  }

  /** Throws `McpFailure`, and the reason of `signal`. An error reported by the server is a result. */
  async callTool(tool: McpTool, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolResult> {
    try {
      const result = await this.#client.callTool(
        { name: tool.name, arguments: args },
        {
          ...{ signal, timeout: this.#timeoutMs, maxTotalTimeout: this.#timeoutMs },
          toolDefinition: { name: tool.name, inputSchema: tool.inputSchema } as Tool,
        },
      );
      const [part] = result.content;
      return { text: part?.type === 'text' ? part.text : '', isError: result.isError === true };
    } catch (error) {
      signal.throwIfAborted();
      if (ProtocolError.isInstance(error)) return { text: error.message, isError: true };
      throw mcpFailure(this.#fault ?? error);
    }
  }

  async close(): Promise<void> {
    await this.#client.close().catch(() => undefined);
  }

  #noteClosed(): void {
    this.#closed = true;
  }
}

async function connectBy(
  transport: Exclude<McpTransport, 'auto'>,
  { egress, reader, tenantId, url, access, timeoutMs, onToolsChanged }: ConnectionOptions,
  signal: AbortSignal,
): Promise<McpConnection> {
  // oxlint-disable-next-line typescript/no-deprecated -- servers of 2024 speak nothing else
  const Transport = transport === 'sse' ? SSEClientTransport : StreamableHTTPClientTransport;
  const client = new Client(
    { name: 'gatehouse', version },
    {
      capabilities: {},
      versionNegotiation: { mode: transport === 'sse' ? 'legacy' : 'auto' },
      // No user is there to answer a server's question.
      inputRequired: { autoFulfill: false },
      jsonSchemaValidator: anything,
      ...(onToolsChanged !== undefined && {
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => onToolsChanged() } },
      }),
    },
  );
  const connection = McpConnection.over(client, timeoutMs);
  const send = egressFetch({ egress, tenantId, timeoutMs, maxBytes: maxAnswerBytes });
  try {
    await client.connect(
      new Transport(new URL(url), {
        fetch: boundedFetch(access.tokens === null ? send : bearerFetch(send, access.tokens), {
          ...{ tenantId, reader, timeoutMs, onFault: (error) => connection.end(error) },
        }),
        requestInit: { headers: access.headers },
        reconnectionScheduler: patientReconnection(),
      }),
      { signal, timeout: timeoutMs },
    );
    return connection;
  } catch (error) {
    await connection.close();
    throw connection.fault ?? error;
  }
}

/** Limits on reconnections, whatever delay a server wants: its streams may end at once, again and again. */
const reconnection = { leastMs: 250, most: 100 };

function patientReconnection(): ReconnectionScheduler {
  const left = { times: reconnection.most };
  return (reconnect, delayMs) => {
    left.times -= 1;
    if (left.times < 0) return undefined;
    const timer = setTimeout(reconnect, Math.max(delayMs, reconnection.leastMs)).unref();
    return () => clearTimeout(timer);
  };
}

function isClientError(error: unknown): boolean {
  for (const cause of causesOf(error))
    if (cause instanceof SdkHttpError) return [400, 404, 405].includes(cause.status);
  return false;
}

/** With the digest of each tool, and whether it can be used. */
async function judged(list: ToolList): Promise<ToolList> {
  const tools: McpTool[] = [];
  let chars = 0;
  for (const tool of list.tools) {
    const size = JSON.stringify(tool).length;
    if (chars > 0 && chars + size > judgedAtOnce) {
      await turnOfTheLoop();
      chars = 0;
    }
    chars += size;
    const unusable = tool.unusable ?? judgedSchema(tool.inputSchema).reason;
    tools.push({ ...tool, digest: digestOf(tool), unusable });
  }
  return { ...list, tools };
}

/** The tools of a list, page by page, up to its limits. */
class ToolCollection {
  isFull = false;
  readonly #tools: McpTool[] = [];
  readonly #names = new Set<string>();
  #bytes = 0;
  #read = 0;
  #readBytes = 0;
  #ttlMs: number | null = null;

  get collected(): ToolList {
    return { tools: this.#tools, ttlMs: this.#ttlMs };
  }

  /** All of a page counts, also what is left out. */
  add({ tools, ttlMs, _meta: meta }: ListToolsResult): void {
    if (typeof ttlMs === 'number') this.#ttlMs = ttlMs;
    this.#readBytes += Number(meta?.[pageBytesKey] ?? 0);
    for (const { name, description = '', annotations, _meta: toolMeta } of tools) {
      this.#read += 1;
      if (name === '' || name.length > maxNameChars || this.#names.has(name)) continue;
      const [schema, reason] = [String(toolMeta?.[schemaKey]), toolMeta?.[reasonKey]];
      this.#bytes += Buffer.byteLength(name) + Buffer.byteLength(description) + Buffer.byteLength(schema);
      if (this.#bytes > maxListBytes || this.#tools.length === maxTools) break;
      this.#names.add(name);
      this.#tools.push({
        ...{ name, description, inputSchema: JSON.parse(schema) as McpTool['inputSchema'] },
        readOnly: annotations?.readOnlyHint === true,
        idempotent: annotations?.idempotentHint === true,
        ...(typeof reason === 'string' && { unusable: reason }),
      });
    }
    this.isFull = this.#bytes > maxListBytes || this.#read >= maxTools || this.#readBytes >= maxAnswerBytes;
  }
}
