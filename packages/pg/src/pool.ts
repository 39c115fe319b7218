import type { Logger } from '@gatehouse/kit/log';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { Pool as PgPool, type PoolClient as PgClient } from 'pg';
import { databaseBusy, isConnectionLost, isUnsent, queryTimedOut, wrapDatabaseError } from './errors.ts';
import { PatientClient, type TimedQuery } from './patient-client.ts';
import { verbsOf, type Verbs } from './rows.ts';
import type { SharedConnections } from './shared-connections.ts';

export type Pool = { connect: () => Promise<PoolClient> } & PgPool & Verbs;
export type PoolClient = PgClient & Verbs;

/** Runs statements: a pool, or the client of a transaction. */
export type Queryable = Pick<PoolClient, 'query' | keyof Verbs>;
/** The same of any client, like the one of a migration step. */
export type BareClient = Pick<PgClient, 'query'>;

export interface PoolOptions {
  /**
   * `postgres://` URL of the service's login role. As for libpq, `connect_timeout` (seconds) and `options`
   * (`-c name=value`) in its query take precedence over the limits here; nothing takes precedence over `role`.
   */
  url: string;
  /** The role of the sessions: `<svc>_app` (one tenant at a time) or `<svc>_system` (spans tenants). */
  role: string;
  max: number;
  /** Connections of one tenant at a time. Default: all but one, where there are three or more. */
  perTenant?: number;
  /** Whether tenants take turns at it: `query`, which names no tenant, throws. */
  inTurns?: boolean;
  /** Whether statements are sent without waiting for the answers of those before them. The server runs them in their order. */
  pipelined?: boolean;
  /** Connections shared with other pools, in turns. Default: it has `max` by itself. */
  shared?: SharedConnections | undefined;
  log: Logger;
  /** The name of its sessions at the server. Default: `gatehouse <role>`. */
  name?: string;
  /** After so long without use a connection is closed; 0 for never. Default: 10 s. */
  idleTimeoutMs?: number;
  /** Additional start-up settings of the sessions. */
  settings?: Readonly<Record<string, string>>;
}

/**
 * Limits for a single statement and for an idle transaction. No transaction stays open longer than 1 s idle, because
 * open transactions hold back `pg_snapshot_xmin`, and with it the `follow` mode of the trace list.
 */
const statementTimeoutMs = 5_000;
const idleInTransactionTimeoutMs = 1_000;
const connectTimeoutMs = 2_000;
const idleTimeoutMs = 10_000;
/** The server closes the connections of unreachable hosts within 25 s, which releases their locks. */
const deadPeerSettings = {
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 25_000,
};

/**
 * Creates a pool with sessions as `role`, which does not own the tables and is subject to row-level security.
 * `RESET ROLE` returns to `role` too, because it is a start-up setting. Statements and transactions throw
 * `database_unavailable` in an outage and `query_timeout` when they take too long.
 */
export function createPool(options: PoolOptions): Pool {
  const limits = {
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
    timezone: 'UTC',
    ...deadPeerSettings,
    ...options.settings,
  };
  const { server, settings, connectMs } = parts(options.url);
  const pgPool = new PgPool({
    connectionString: server,
    max: options.max,
    application_name: options.name ?? `gatehouse ${options.role}`,
    idleTimeoutMillis: options.idleTimeoutMs ?? idleTimeoutMs,
    connectionTimeoutMillis: connectMs ?? connectTimeoutMs,
    Client: PatientClient,
    pipeline: options.pipelined === true,
    keepAlive: true,
    // The last one counts.
    options: [startUp(limits), settings, startUp({ role: options.role })].join(' '),
  });
  const verbs = verbsOf((statement, values) => pgPool.query(statement as string, values));
  const pool = Object.assign(pgPool, verbs) as Pool;
  // Without a listener, the loss of an idle connection would end the process.
  pool.on('error', (error) => options.log.warn({ err: error }, 'lost an idle database connection'));
  // A connection in use: its statement fails too, and the caller handles its error.
  pool.on('connect', (client) => client.on('error', () => undefined));
  if (options.inTurns === true || options.shared !== undefined) refuseQueries(pool);
  else wrapQueryErrors(pool);
  if (options.shared !== undefined) sharedByPools.set(pool, options.shared);
  if (options.perTenant !== undefined) queuesOfPools.set(pool, queueFor(options.max, options.perTenant));
  return pool;
}

/** Takes out of a URL what pg would let replace the whole start-up options, the role included. */
function parts(url: string): { server: string; settings: string; connectMs: number | undefined } {
  const server = new URL(url);
  const { searchParams: query } = server;
  const settings = query.get('options') ?? '';
  const seconds = Number(query.get('connect_timeout'));
  query.delete('options');
  query.delete('connect_timeout');
  return { server: server.href, settings, connectMs: seconds > 0 ? seconds * 1_000 : undefined };
}

function startUp(settings: Readonly<Record<string, string | number>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

/**
 * Wraps the errors of `pool.query`, as `transaction` does for its own, so stores need not. Sends a `select` again over
 * the next connection where the server has closed this one (see `begun`); the effect of a write is not known, unless it
 * was not sent.
 */
function wrapQueryErrors(pool: PgPool): void {
  const query = pool.query.bind(pool) as (...input: unknown[]) => Promise<unknown>;
  const patient = async (...input: unknown[]): Promise<unknown> => {
    for (let idle = pool.idleCount; ; idle -= 1) {
      try {
        return await query(...input);
      } catch (error) {
        const mayRepeat = isUnsent(error) || (isSelect(input[0]) && isConnectionLost(error));
        if (!mayRepeat || isLastTry(idle, error)) return wrapDatabaseError(error);
      }
    }
  };
  // Drops the overloads with a callback, which no store uses.
  pool.query = patient as unknown as PgPool['query'];
}

/** A statement for many tenants would wait among those of one, or pass all of them: it needs a pool without turns. */
function refuseQueries(pool: PgPool): void {
  const refuse = (): Promise<never> =>
    Promise.reject(new Error('a pool at which tenants take turns runs no statement without a tenant'));
  pool.query = refuse;
}

function isSelect(statement: unknown): boolean {
  const text = typeof statement === 'string' ? statement : (Object(statement) as { text?: unknown }).text;
  return typeof text === 'string' && /^\s*select\b/i.test(text);
}

/** A row before and after a change. */
export interface Changed<Row> {
  before: Row;
  after: Row;
}

/** Runs `work` in one transaction; rolls back if it throws. */
export async function withTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  return transaction(pool, 'begin', work);
}

/** How long work of tenants waits for a connection: longer than the time limit of an awaited statement. */
const longestWait = { ms: statementTimeoutMs + 2_000, error: databaseBusy };
const queuesOfPools = new WeakMap<Pool, FairQueue>();
const sharedByPools = new WeakMap<Pool, SharedConnections>();

/**
 * The turns of tenants at the connections of a pool. A tenant never has all connections of a pool with more than two,
 * or no more than its `perTenant`.
 */
function queueOf(pool: Pool): FairQueue {
  const known = queuesOfPools.get(pool);
  if (known !== undefined) return known;
  const slots = pool.options.max;
  const made = queueFor(slots, slots > 2 ? slots - 1 : slots);
  queuesOfPools.set(pool, made);
  return made;
}

/** Work waiting for a connection of a pool. */
export function waitingFor(pool: Pool): number {
  return pool.waitingCount + queueOf(pool).waiting + (sharedByPools.get(pool)?.waitingOf(pool) ?? 0);
}

/**
 * Runs work of a tenant when its turn has come, at the connections of a pool and then at connections shared by pools.
 */
function turnOf<Result>(
  pool: Pool,
  tenantId: string | null,
  work: () => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const shared = sharedByPools.get(pool);
  const begin = shared === undefined ? work : () => shared.run(pool, tenantId, work, signal);
  return queueOf(pool).run(tenantId, begin, signal);
}

function queueFor(slots: number, perKey: number): FairQueue {
  return new FairQueue({ slots, perKey, maxWaiting: 1_000, longestWait });
}

/**
 * Runs `work` in one transaction limited to the rows of `tenantId`, when the turn of this tenant has come. `begin` and
 * the tenant setting are one message: measured 329 µs, 441 µs as two.
 */
export async function withTenant<Result>(
  pool: Pool,
  tenantId: string,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const begin = `begin; ${settingOf(tenantId)}`;
  return turnOf(pool, tenantId, () => transaction(pool, begin, work));
}

/** The same for a role with access to rows of all tenants: `work` names the tenant. */
export async function inTenantOrder<Result>(
  pool: Pool,
  tenantId: string,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  return turnOf(pool, tenantId, () => transaction(pool, 'begin', work));
}

/** The same for reads with several statements, to see the state at one moment in all of them. */
export async function withTenantSnapshot<Result>(
  pool: Pool,
  tenantId: string,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  return turnOf(pool, tenantId, () => transaction(pool, snapshotOf(tenantId), work));
}

/** The same for a role with access to rows of all tenants, at a pool without turns. */
export async function withSnapshot<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  return transaction(pool, snapshotOf(null), work);
}

export interface HeldRead<Opened, Result> {
  /** In a transaction as of `withTenantSnapshot`: declares cursors `with hold`. */
  open: (client: PoolClient) => Promise<Opened>;
  /** After its end: fetches their rows. */
  read: (client: PoolClient, opened: Opened) => Promise<Result>;
  /** Ends the connection when it aborts. The server notices where `client_connection_check_interval` is set. */
  signal: AbortSignal;
}

/**
 * The same for a result read while a client takes it; `null`: of all tenants. The server keeps the rows, so no transaction lasts; the
 * connection is occupied until `read` ends.
 */
export async function withHeldRows<Opened, Result>(
  pool: Pool,
  tenantId: string | null,
  { open, read, signal }: HeldRead<Opened, Result>,
): Promise<Result> {
  return turnOf(
    pool,
    tenantId,
    async () => {
      const client = await begun(pool, snapshotOf(tenantId)).catch(wrapDatabaseError);
      const held = { isReleased: false };
      const release = (isBroken: boolean): void => {
        if (!held.isReleased) client.release(isBroken);
        held.isReleased = true;
      };
      const onAbort = (): void => release(true);
      signal.addEventListener('abort', onAbort);
      try {
        signal.throwIfAborted();
        const opened = await open(client);
        // The server computes the rows now, and `statement_timeout` has ended.
        await client.query(timedCommit).catch((error: unknown) => {
          release(true);
          throw signal.aborted || isConnectionLost(error) ? error : queryTimedOut(error);
        });
        return await read(client, opened);
      } catch (error) {
        signal.throwIfAborted();
        return wrapDatabaseError(error);
      } finally {
        signal.removeEventListener('abort', onAbort);
        // After a commit the rollback does nothing.
        if (!held.isReleased)
          await client.query('rollback; close all').then(
            () => release(false),
            () => release(true),
          );
      }
    },
    signal,
  );
}

const timedCommit: TimedQuery = { text: 'commit', giveUpAfterMs: statementTimeoutMs };

/** `null`: the rows of all tenants, for a role with access to these. */
function snapshotOf(tenantId: string | null): string {
  const begin = 'begin isolation level repeatable read, read only';
  return tenantId === null ? begin : `${begin}; ${settingOf(tenantId)}`;
}

function settingOf(tenantId: string): string {
  if (!/^[0-9a-f-]{36}$/i.test(tenantId)) throw new Error('not a tenant id');
  return `select set_config('gatehouse.tenant_id', '${tenantId}', true)`;
}

/** Work to do once the transaction of a client is committed. Empty but for the few transactions with added jobs. */
const afterCommits = new WeakMap<object, (() => void)[]>();

/**
 * Calls `work` when the transaction of `db` has been committed, and never if it is rolled back. If `db` is a pool, its
 * statements commit by themselves: calls it at once.
 */
export function afterCommit(db: Queryable, work: () => void): void {
  if (db instanceof PgPool) {
    work();
    return;
  }
  const waiting = afterCommits.get(db);
  if (waiting === undefined) afterCommits.set(db, [work]);
  else waiting.push(work);
}

/**
 * A client with a begun transaction. Connections closed by the server are thrown away: the pool learns of the loss when
 * the event loop gets to it, which is late after a stall, and after a restart of the server all of them are closed.
 */
async function begun(pool: Pool, begin: string): Promise<PoolClient> {
  for (let idle = pool.idleCount; ; idle -= 1) {
    const client = await pool.connect();
    try {
      await client.query(begin);
      return client;
    } catch (error) {
      client.release(error as Error);
      if (!isConnectionLost(error) || isLastTry(idle, error)) throw error;
    }
  }
}

/** A connection may also end between its opening and its first statement, which is then not sent. */
function isLastTry(idle: number, error: unknown): boolean {
  return isUnsent(error) ? idle < 0 : idle <= 0;
}

async function transaction<Result>(
  pool: Pool,
  begin: string,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await begun(pool, begin).catch(wrapDatabaseError);
  let broken: Error | undefined;
  try {
    const result = await work(client);
    await client.query('commit');
    afterCommits.get(client)?.forEach((done) => done());
    return result;
  } catch (error) {
    await client.query('rollback').catch((rollbackError: unknown) => {
      broken = rollbackError as Error;
    });
    return wrapDatabaseError(error);
  } finally {
    afterCommits.delete(client);
    client.release(broken);
  }
}
