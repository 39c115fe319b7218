import {
  Client,
  ProtocolError,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type CallToolResult,
  type ContentBlock,
  type jsonSchemaValidator,
  type JsonSchemaValidatorResult,
  type ReconnectionScheduler,
  type Tool,
} from '@modelcontextprotocol/client';
import type { McpTransport } from '@gatehouse/contract/mcp-servers';
import type { Egress } from '@gatehouse/egress/egress';
import { version } from '@gatehouse/kit/version';
import { bearerFetch } from './bearer-fetch.ts';
import { egressFetch } from './egress-fetch.ts';
import { causesOf, mcpFailure } from './failure.ts';
import type { McpTool } from './mcp-server.ts';
import type { ServerAccess } from './server-accesses.ts';

export interface ConnectionOptions {
  egress: Egress;
  url: string;
  transport: McpTransport;
  /** What authenticates each request. */
  access: Pick<ServerAccess, 'headers' | 'tokens'>;
  /** For each request. */
  timeoutMs: number;
  /** Called when the server says that its list of tools has changed. */
  onToolsChanged?: () => void;
}

/** The tools of a server. */
export interface ToolList {
  tools: McpTool[];
  /** How long the server says that the list is good; null if it does not. */
  ttlMs: number | null;
}

/** What a call of a tool returned. */
export interface ToolResult {
  /** Its content as text. */
  text: string;
  /** Whether the tool says that it failed. */
  isError: boolean;
}

/** Of the body of a response. */
const maxBytes = 4 * 1024 * 1024;
const maxPages = 20;
/** Of one server; what is beyond is left out. */
const maxTools = 500;
const maxListBytes = 1024 * 1024;
const maxNameChars = 256;
const maxDescriptionChars = 8_192;

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
  #closed = false;

  private constructor(client: Client, timeoutMs: number) {
    this.#client = client;
    this.#timeoutMs = timeoutMs;
    client.onclose = this.#noteClosed.bind(this);
  }

  /** Connects by the transport, or by the first of both that works. Throws `McpFailure`. */
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

  static of(client: Client, timeoutMs: number): McpConnection {
    return new McpConnection(client, timeoutMs);
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
      let cursor: string | undefined;
      for (let page = 0; page < maxPages && !list.isFull; page += 1) {
        const params = cursor === undefined ? {} : { cursor };
        const listed = await this.#client.request({ method: 'tools/list', params }, options);
        list.add(listed);
        cursor = listed.nextCursor;
        if (cursor === undefined) break;
      }
      return list.collected;
    } catch (error) {
      throw mcpFailure(error);
    }
  }

  /** Throws `McpFailure`, and the reason of `signal`. An error that the server reports is a result. */
  async callTool(tool: McpTool, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolResult> {
    try {
      const result = await this.#client.callTool(
        { name: tool.name, arguments: args },
        {
          ...{ signal, timeout: this.#timeoutMs, maxTotalTimeout: this.#timeoutMs },
          toolDefinition: { name: tool.name, inputSchema: tool.inputSchema } as Tool,
        },
      );
      return { text: textOf(result), isError: result.isError === true };
    } catch (error) {
      signal.throwIfAborted();
      if (ProtocolError.isInstance(error)) return { text: error.message, isError: true };
      throw mcpFailure(error);
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
  { egress, url, access, timeoutMs, onToolsChanged }: ConnectionOptions,
  signal: AbortSignal,
): Promise<McpConnection> {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- servers of 2024 speak nothing else
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
  const connection = McpConnection.of(client, timeoutMs);
  const send = egressFetch({ egress, timeoutMs, maxBytes });
  try {
    await client.connect(
      new Transport(new URL(url), {
        fetch: access.tokens === null ? send : bearerFetch(send, access.tokens),
        requestInit: { headers: access.headers },
        reconnectionScheduler: patientReconnection(),
      }),
      { signal, timeout: timeoutMs },
    );
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Whatever delay a server wants: its streams may end at once, again and again. */
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

/** The tools of a list, page by page, up to its limits. */
class ToolCollection {
  isFull = false;
  readonly #tools: McpTool[] = [];
  readonly #names = new Set<string>();
  #bytes = 0;
  #ttlMs: number | null = null;

  get collected(): ToolList {
    return { tools: this.#tools, ttlMs: this.#ttlMs };
  }

  add({ tools, ...page }: { tools: readonly Tool[]; ttlMs?: unknown }): void {
    if (typeof page.ttlMs === 'number') this.#ttlMs = page.ttlMs;
    for (const { name, description = '', inputSchema, annotations } of tools) {
      if (name === '' || name.length > maxNameChars || this.#names.has(name)) continue;
      const tool: McpTool = {
        name,
        description: description.slice(0, maxDescriptionChars),
        inputSchema,
        readOnly: annotations?.readOnlyHint === true,
        idempotent: annotations?.idempotentHint === true,
      };
      this.#bytes += Buffer.byteLength(JSON.stringify(tool));
      this.isFull = this.#bytes > maxListBytes || this.#tools.length >= maxTools;
      if (this.isFull) return;
      this.#names.add(name);
      this.#tools.push(tool);
    }
  }
}

/** Models of the gateway's tools get text: of other content its kind and size. */
function textOf({ content, structuredContent }: CallToolResult): string {
  const parts = content.map(partOf);
  if (parts.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent);
  return parts.join('\n');
}

function partOf(part: ContentBlock): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'image':
    case 'audio':
      return `[${part.type} ${part.mimeType}, ${part.data.length} characters of base64, left out]`;
    case 'resource_link':
      return `[resource ${part.uri} ${part.name}]`;
    case 'resource':
      return 'text' in part.resource ? part.resource.text : `[resource ${part.resource.uri}, left out]`;
  }
}
