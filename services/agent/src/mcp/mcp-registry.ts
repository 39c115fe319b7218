import type { Egress } from '@gatehouse/egress/egress';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { SharedCalls } from '@gatehouse/kit/shared-calls';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { McpConnection, type ConnectionOptions, type ToolList, type ToolResult } from './connection.ts';
import { mcpFailure, McpFailure, type McpFailureKind } from './failure.ts';
import {
  isPerUser,
  loginUserOf,
  type KnownHead,
  type McpServerHead,
  type McpSettings,
} from './mcp-server.ts';
import type { McpTool } from './mcp-tool.ts';
import { MessageReader } from './message-reader.ts';
import type { ServerAccess } from './server-access.ts';
import { McpSessions, type SessionKey } from './sessions.ts';
import type { AcceptedTool } from './tool-review.ts';
import { noticeMs, stepMs } from '../bounds.ts';

/** The list of a server. */
export interface Listed extends ToolList {
  protocolVersion: string | null;
}

/** The record of what the registry learns about servers. Each entry applies only to the same connection. */
export interface ServerRecord {
  /** Returns the usable tools. */
  setTools(server: McpServerHead, listed: Listed): Promise<McpTool[]>;
  setFailure(
    server: McpServerHead,
    failure: { status: 'error' | 'needs_auth'; reason: string },
  ): Promise<void>;
  /** It answers again. */
  setConnected(server: McpServerHead): Promise<void>;
  expireTools(server: McpServerHead): Promise<void>;
}

/** The lists of servers where each user has a login. */
export interface UserLists {
  /** Null without a login; `tools` is null if the server was not asked for this user yet. */
  findList(
    server: McpServerHead,
    user: string,
  ): Promise<{ tools: McpTool[] | null; accepted: AcceptedTool[]; isStale: boolean } | null>;
  /** Returns the usable tools. */
  setList(server: McpServerHead, user: string, listed: Listed): Promise<McpTool[]>;
}

export interface McpRegistryOptions {
  egress: Egress;
  record: ServerRecord;
  /** For calls as a user, or as the tenant. Throws `McpFailure`: `unauthorized`, `needs_consent`. */
  accessOf: (server: McpServerHead, user: string | null) => Promise<ServerAccess>;
  lists: UserLists;
  log: Logger;
}

/** Limits of this process. */
const waiting = { maxWaiting: 1_000, tooMany: () => new McpFailure('busy') };
const callsOfServer = { perKey: 16, ...waiting };
const callsOfTenant = { perKey: 32, ...waiting };
const listingsOfTenant = { perKey: 8, ...waiting };

/** Connects to MCP servers, lists their tools and calls them. */
export class McpRegistry {
  readonly #options: McpRegistryOptions;
  readonly #sessions = new McpSessions();
  readonly #reader = new MessageReader();
  readonly #serverQueue = new FairQueue(callsOfServer);
  readonly #tenantQueue = new FairQueue(callsOfTenant);
  readonly #listings = new FairQueue(listingsOfTenant);
  readonly #refreshes = new SharedCalls<Listed>();

  constructor(options: McpRegistryOptions) {
    this.#options = options;
  }

  /** Bytes of large responses in memory, and responses waiting until others are read. */
  get answers(): { bytes: number; waiting: number } {
    return this.#reader.answers;
  }

  start(): void {
    this.#sessions.start();
  }

  stop(): Promise<void> {
    return this.#sessions.stop();
  }

  /** Connects by settings of a tenant before they are stored. Throws `McpFailure`. */
  async verify(
    tenantId: string,
    settings: Pick<McpSettings, 'url' | 'transport' | 'timeoutMs'>,
    headers: ServerAccess['headers'],
  ): Promise<Listed> {
    const { url, transport, timeoutMs } = settings;
    const { egress } = this.#options;
    const limitMs = Math.min(timeoutMs, stepMs);
    const signal = AbortSignal.timeout(limitMs);
    const access = { headers, tokens: null };
    const reader = this.#reader;
    const options = { egress, reader, tenantId, url, transport, timeoutMs: limitMs, access };
    try {
      const listed = async (): Promise<Listed> => {
        const connection = await McpConnection.connect(options, signal);
        try {
          return await this.#list(connection, signal);
        } finally {
          await connection.close();
        }
      };
      return await this.#listings.run(tenantId, listed, signal);
    } catch (error) {
      throw signal.aborted ? new McpFailure('timeout', { cause: error }) : mcpFailure(error);
    }
  }

  /**
   * Lists the tools of a server again, as a user or as the tenant, and notes them or the failure. Returns the usable
   * ones. Throws `McpFailure`.
   */
  async refresh(server: McpServerHead, user: string | null): Promise<Listed> {
    const key = `${server.connectionId}/${loginUserOf(server, user)}`;
    return this.#refreshes.get(key, () => this.#refresh(server, user));
  }

  /**
   * Calls a tool as a user, or as the tenant. Throws `McpFailure`, and the reason of `signal`. A call not begun by the
   * server, because it did not know the session, is made again in another session.
   */
  async call(
    server: KnownHead,
    { tool, args, user }: { tool: McpTool; args: Record<string, unknown>; user: string | null },
    signal: AbortSignal,
  ): Promise<ToolResult> {
    if (server.retryInS > 0) throw new McpFailure(failureOf(server));
    const limited = AbortSignal.any([signal, AbortSignal.timeout(server.timeoutMs)]);
    try {
      const isRepeatable = tool.readOnly || tool.idempotent;
      const called = (): Promise<ToolResult> =>
        this.#withConnection(server, { user, signal: limited, isRepeatable }, (connection) =>
          connection.callTool(tool, args, limited),
        );
      // First the turn of the server: a slow one holds up no other one.
      const calledInTurn = (): Promise<ToolResult> => this.#tenantQueue.run(server.tenantId, called, limited);
      const result = await this.#serverQueue.run(server.id, calledInTurn, limited);
      if (server.status !== 'connected') await this.#options.record.setConnected(server);
      return result;
    } catch (error) {
      signal.throwIfAborted();
      if (limited.aborted) throw new McpFailure('timeout', { cause: error });
      const failure = mcpFailure(error);
      // All else may be due to the call: it counts once a connection or a list fails so.
      if (failure.kind === 'needs_consent' || failure.whileConnecting) await this.#note(server, failure);
      throw failure;
    }
  }

  /** Ends everything kept by this process for a server deleted or connected differently from now on. */
  forget({ connectionId }: McpServerHead): void {
    this.#sessions.endAll(connectionId);
  }

  /** Ends everything kept by this process for an ended login. Other processes close their connections once idle. */
  forgetLogin({ tenantId, connectionId, id: loginId }: Omit<SessionKey, 'loginId'> & { id: string }): void {
    this.#sessions.discard({ tenantId, connectionId, loginId });
  }

  async #refresh(server: McpServerHead, user: string | null): Promise<Listed> {
    const signal = AbortSignal.timeout(Math.min(server.timeoutMs, stepMs));
    try {
      const list = (): Promise<Listed> =>
        this.#withConnection(server, { user, signal, isRepeatable: true }, (connection) =>
          this.#list(connection, signal),
        );
      const listed = await this.#listings.run(server.tenantId, list, signal);
      const { record, lists } = this.#options;
      if (!isPerUser(server)) return { ...listed, tools: await record.setTools(server, listed) };
      await record.setConnected(server);
      return { ...listed, tools: user === null ? [] : await lists.setList(server, user, listed) };
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
    server: McpServerHead,
    { user, signal, isRepeatable }: { user: string | null; signal: AbortSignal; isRepeatable: boolean },
    work: (connection: McpConnection) => Promise<Result>,
  ): Promise<Result> {
    const { tenantId, connectionId } = server;
    for (;;) {
      const access = await this.#options.accessOf(server, user);
      const key: SessionKey = { tenantId, connectionId, loginId: access.loginId };
      const { connection, isNew, release } = await this.#sessions
        .take(key, signal, () =>
          // Others may wait for the same connection when this caller has gone.
          McpConnection.connect(this.#connectionTo(server, access), AbortSignal.timeout(stepMs)),
        )
        .catch((error: unknown) => {
          signal.throwIfAborted();
          throw mcpFailure(error).atConnecting();
        });
      try {
        return await work(connection);
      } catch (error) {
        signal.throwIfAborted();
        const failure = mcpFailure(error);
        if (endsConnection.has(failure.kind)) this.#sessions.discard(key);
        const mayRepeat = failure.kind === 'session' && (isRepeatable || failure.isUndone);
        if (isNew || !mayRepeat) throw failure;
      } finally {
        release();
      }
    }
  }

  #connectionTo(server: McpServerHead, access: ServerAccess): ConnectionOptions {
    const { egress, record, log } = this.#options;
    const { tenantId, url, transport, timeoutMs } = server;
    const last = { at: -Infinity };
    return {
      ...{ egress, reader: this.#reader, tenantId, url, transport, timeoutMs, access },
      onToolsChanged: () => {
        // A server may send thousands of notices.
        if (monotonicMs() - last.at < noticeMs) return;
        last.at = monotonicMs();
        record.expireTools(server).catch((error: unknown) => {
          log.warn({ err: error, mcp_server_id: server.id }, 'failed to expire the tools of an MCP server');
        });
      },
    };
  }

  async #note(server: McpServerHead, { kind, message: reason }: McpFailure): Promise<void> {
    const { record, log } = this.#options;
    const status = isOfAuth.has(kind) ? 'needs_auth' : 'error';
    // One user without a login keeps no other one from calling.
    if (status === 'needs_auth' && isPerUser(server)) return;
    const { id, tenantId } = server;
    log.info({ mcp_server_id: id, tenant_id: tenantId, failure: kind }, 'an MCP server failed');
    await record.setFailure(server, { status, reason });
  }
}

/** Why a server may not be called yet. */
function failureOf({ status, auth, otherIssuer }: KnownHead): McpFailureKind {
  if (otherIssuer !== null) return 'other_issuer';
  if (status !== 'needs_auth') return 'unreachable';
  return auth.type === 'oauth' ? 'needs_consent' : 'unauthorized';
}

const isOfAuth: ReadonlySet<McpFailureKind> = new Set(['unauthorized', 'needs_consent', 'other_issuer']);
const isOfServer: ReadonlySet<McpFailureKind> = new Set(['unreachable', ...isOfAuth]);
const endsConnection: ReadonlySet<McpFailureKind> = new Set(['session', 'invalid', ...isOfServer]);
