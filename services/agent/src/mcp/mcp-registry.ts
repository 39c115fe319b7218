import type { Egress } from '@gatehouse/egress/egress';
import { settledWithin } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { SharedCalls } from '@gatehouse/kit/shared-calls';
import { CallSlots } from './call-slots.ts';
import { McpConnection, type ConnectionOptions, type ToolList, type ToolResult } from './connection.ts';
import { mcpFailure, McpFailure } from './failure.ts';
import { hasAuth, type AuthSecrets, type McpServer, type McpSettings, type McpTool } from './mcp-server.ts';
import { McpSessions, type SessionKey } from './sessions.ts';

/** A stored server, and what is known of its health. */
export interface KnownServer extends McpServer {
  /** Whether the list of its tools is older than its time to live. */
  isStale: boolean;
  /** Seconds until it may be called again; 0 if it may. */
  retryInS: number;
}

/** What a server listed. */
export interface Listed extends ToolList {
  protocolVersion: string | null;
}

/** Where the registry notes what it learns about servers. Each applies only while the connection is the same. */
export interface ServerRecord {
  setTools(server: McpServer, listed: Listed): Promise<void>;
  setFailure(server: McpServer, failure: { status: 'error' | 'needs_auth'; reason: string }): Promise<void>;
  /** It answers again. */
  setConnected(server: McpServer): Promise<void>;
  expireTools(server: McpServer): Promise<void>;
}

export interface McpRegistryOptions {
  egress: Egress;
  record: ServerRecord;
  /** Decrypts the secrets of a server. */
  openSecrets: (server: Pick<McpServer, 'tenantId' | 'id'>, sealed: Buffer) => AuthSecrets;
  log: Logger;
}

/** The longest time for a connection or a list of tools, however patient calls are. */
const listMs = 20_000;
/** How long a turn waits for a list that is to be fetched again. */
const turnWaitMs = 2_000;
/** Calls under way in this process. */
const maxCalls = { ofServer: 16, ofTenant: 32 };

/** Connects to MCP servers, lists their tools and calls them. */
export class McpRegistry {
  readonly #options: McpRegistryOptions;
  readonly #sessions = new McpSessions();
  readonly #perServer = new CallSlots(maxCalls.ofServer);
  readonly #perTenant = new CallSlots(maxCalls.ofTenant);
  readonly #refreshes = new SharedCalls<Listed>();

  constructor(options: McpRegistryOptions) {
    this.#options = options;
  }

  start(): void {
    this.#sessions.start();
  }

  stop(): Promise<void> {
    return this.#sessions.stop();
  }

  /** Connects by settings that are not stored yet. Throws `McpFailure`. */
  async verify(
    settings: Pick<McpSettings, 'url' | 'transport' | 'timeoutMs'>,
    secrets: AuthSecrets | null,
  ): Promise<Listed> {
    const { url, transport, timeoutMs } = settings;
    const { egress } = this.#options;
    const limitMs = Math.min(timeoutMs, listMs);
    const signal = AbortSignal.timeout(limitMs);
    const options = { egress, url, transport, timeoutMs: limitMs, headers: headersOf(secrets) };
    let connection: McpConnection | null = null;
    try {
      connection = await McpConnection.connect(options, signal);
      return await this.#list(connection, signal);
    } catch (error) {
      throw signal.aborted ? new McpFailure('timeout', { cause: error }) : mcpFailure(error);
    } finally {
      await connection?.close();
    }
  }

  /** Lists the tools of a server again and notes them, or what went wrong. Throws `McpFailure`. */
  async refresh(server: McpServer): Promise<Listed> {
    return this.#refreshes.get(server.connectionId, () => this.#refresh(server));
  }

  /**
   * The tools of a server, listed again if their time is over. Those from before while the server does not answer, or
   * takes long.
   */
  async toolsOf(server: KnownServer): Promise<readonly McpTool[]> {
    if (!server.isStale || server.retryInS > 0 || !hasAuth(server)) return server.tools;
    const known: { tools: readonly McpTool[] } = { tools: server.tools };
    const refreshed = this.refresh(server).then(({ tools }) => {
      known.tools = tools;
    });
    await settledWithin(refreshed, turnWaitMs);
    return known.tools;
  }

  /**
   * Calls a tool. Throws `McpFailure`, and the reason of `signal`. A call that the server has not begun, because it did
   * not know the session, is made again in another one.
   */
  async call(
    server: KnownServer,
    { tool, args }: { tool: McpTool; args: Record<string, unknown> },
    signal: AbortSignal,
  ): Promise<ToolResult> {
    if (!hasAuth(server)) throw new McpFailure('unauthorized');
    if (server.retryInS > 0)
      throw new McpFailure(server.status === 'needs_auth' ? 'unauthorized' : 'unreachable');
    const limited = AbortSignal.any([signal, AbortSignal.timeout(server.timeoutMs)]);
    try {
      const result = await this.#perTenant.run(server.tenantId, limited, () =>
        this.#perServer.run(server.id, limited, () =>
          this.#withConnection(server, limited, (connection) => connection.callTool(tool, args, limited)),
        ),
      );
      if (server.status !== 'connected') await this.#options.record.setConnected(server);
      return result;
    } catch (error) {
      signal.throwIfAborted();
      if (limited.aborted) throw new McpFailure('timeout', { cause: error });
      const failure = mcpFailure(error);
      // All else may be due to the call.
      if (failure.kind === 'unreachable' || failure.kind === 'unauthorized')
        await this.#note(server, failure);
      throw failure;
    }
  }

  async #refresh(server: McpServer): Promise<Listed> {
    const signal = AbortSignal.timeout(Math.min(server.timeoutMs, listMs));
    try {
      const listed = await this.#withConnection(server, signal, (connection) =>
        this.#list(connection, signal),
      );
      await this.#options.record.setTools(server, listed);
      return listed;
    } catch (error) {
      const failure = signal.aborted ? new McpFailure('timeout', { cause: error }) : mcpFailure(error);
      if (failure.kind !== 'busy') await this.#note(server, failure);
      throw failure;
    }
  }

  async #list(connection: McpConnection, signal: AbortSignal): Promise<Listed> {
    return { ...(await connection.listTools(signal)), protocolVersion: connection.protocolVersion };
  }

  async #withConnection<Result>(
    server: McpServer,
    signal: AbortSignal,
    work: (connection: McpConnection) => Promise<Result>,
  ): Promise<Result> {
    const { tenantId, connectionId } = server;
    const key: SessionKey = { tenantId, connectionId };
    for (;;) {
      const { connection, isNew, release } = await this.#sessions.take(key, signal, () =>
        // Others may wait for the same connection when this caller has gone.
        McpConnection.connect(this.#connectionTo(server), AbortSignal.timeout(listMs)),
      );
      try {
        return await work(connection);
      } catch (error) {
        signal.throwIfAborted();
        const failure = mcpFailure(error);
        if (endsConnection.has(failure.kind)) this.#sessions.discard(key);
        if (isNew || failure.kind !== 'session') throw failure;
      } finally {
        release();
      }
    }
  }

  #connectionTo(server: McpServer): ConnectionOptions {
    const { openSecrets, egress, record, log } = this.#options;
    const { url, transport, timeoutMs, secrets } = server;
    return {
      ...{ egress, url, transport, timeoutMs },
      headers: headersOf(secrets === null ? null : openSecrets(server, secrets)),
      onToolsChanged: () => {
        record.expireTools(server).catch((error: unknown) => {
          log.warn({ err: error, mcp_server_id: server.id }, 'failed to expire the tools of an MCP server');
        });
      },
    };
  }

  async #note(server: McpServer, { kind, message: reason }: McpFailure): Promise<void> {
    const { record, log } = this.#options;
    const status = kind === 'unauthorized' ? 'needs_auth' : 'error';
    const { id, tenantId } = server;
    log.info({ mcp_server_id: id, tenant_id: tenantId, failure: kind }, 'an MCP server failed');
    await record.setFailure(server, { status, reason });
  }
}

const endsConnection = new Set(['session', 'unreachable', 'invalid', 'unauthorized']);

function headersOf(secrets: AuthSecrets | null): Record<string, string> {
  if (secrets === null) return {};
  return 'token' in secrets ? { authorization: `Bearer ${secrets.token}` } : secrets.headers;
}
