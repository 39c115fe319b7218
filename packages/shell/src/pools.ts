import { DatabaseCheck } from '@gatehouse/pg/database-check';
import { createPool, type Pool, type PoolOptions } from '@gatehouse/pg/pool';
import { observePools } from '@gatehouse/pg/pool-metrics';
import { schemaCheck } from '@gatehouse/pg/schema-check';
import { checkConnections } from './connection-check.ts';
import type { Shell } from './shell.ts';
import { systemState } from './system-state.ts';

export interface DatabaseOptions<Name extends string> {
  url: string;
  /** Folder of the migrations `NNNN_*.sql`. The service starts only when they have been applied. */
  migrations: string;
  /** Pools by their name in metrics. The first one checks the schema. */
  pools: Readonly<Record<Name, PoolSettings>>;
  /** The role whose connection decides whether the service is ready. Default: that of the first pool. */
  readyAs?: string;
  /** How late runs are counted, if the service does that. `system` is its pool of `<service>_system`. */
  usageLagSeconds?: (system: Pool) => Promise<number | null>;
}

/** One tenant could use two connections at once, for as long as a statement may take. */
const leastForTenants = 3;

/**
 * The work that waits for the connections of a pool:
 * - `tenants`: requests, calls and jobs of one tenant each. They take turns by tenant (`withTenant`, `inTurn`), so the
 *   pool has at least three connections, and one tenant never all of them.
 * - `unproved`: requests whose key, cookie, code or signature is not proved yet
 * - `all`: work for many tenants together, such as the run log and job queues, and requests of owners
 */
export type Waiting = 'tenants' | 'unproved' | 'all';

export interface PoolSettings extends Omit<PoolOptions, 'url' | 'log'> {
  waits: Waiting;
}

/** The options of a pool. Throws if a role that sees one tenant at a time would work without turns by tenant. */
export function poolOptions({ waits, ...options }: PoolSettings): Omit<PoolOptions, 'url' | 'log'> {
  const { role, max, perTenant } = options;
  if (waits === 'tenants') return { ...options, max: Math.max(leastForTenants, max) };
  if (role.endsWith('_app') || perTenant !== undefined)
    throw new Error(`a pool of ${role} for one tenant at a time must wait for 'tenants', not '${waits}'`);
  return options;
}

/**
 * Creates the connection pools of a service. They close last. The service starts only if the server allows its process
 * that many connections, and is ready only while the database answers.
 * Metrics show their connections and waiting work, and operators the state that the database has of the service.
 */
export function createPools<Name extends string>(
  shell: Shell,
  { url, migrations: directory, pools: wanted, readyAs, usageLagSeconds }: DatabaseOptions<Name>,
): Record<Name, Pool> {
  const { name: service, log, registry } = shell;
  const named = Object.entries<PoolSettings>(wanted).map(
    ([name, settings]) => [name, createPool({ url, log, ...poolOptions(settings) }), settings.role] as const,
  );
  for (const [, pool] of named) {
    shell.add({ stop: () => pool.end() });
    shell.connections.add(url, pool.options.max);
  }
  const [first] = named;
  if (first === undefined) throw new Error(`${service} must have at least one pool`);
  const [, pool, role] = first;
  const check = new DatabaseCheck({ url, role: readyAs ?? role, service, log });
  shell.add({ stop: () => check.stop() });
  shell.connections.add(url, 1);
  shell.require('database', () => check.answers());
  shell.add(schemaCheck({ pool, service, directory, log }));
  shell.add({ start: () => checkConnections(shell.connections, { db: pool, url, log }) });
  const pools = Object.fromEntries(named.map(([name, made]) => [name, made])) as Record<Name, Pool>;
  const [, system] = named.find(([, , roleOf]) => roleOf === `${service}_system`) ?? [];
  if (system !== undefined) shell.serve(systemState(service, { pool: system, usageLagSeconds }));
  observePools(registry, pools);
  return pools;
}
