import { DatabaseCheck } from '@gatehouse/pg/database-check';
import { createPool, type Pool, type PoolOptions } from '@gatehouse/pg/pool';
import { observePools } from '@gatehouse/pg/pool-metrics';
import { schemaCheck } from '@gatehouse/pg/schema-check';
import { SharedConnections } from '@gatehouse/pg/shared-connections';
import { checkConnections } from './connection-check.ts';
import type { ConnectionCount } from './connection-count.ts';
import type { Shell } from './shell.ts';
import { systemState } from './system-state.ts';

export interface DatabaseOptions<Name extends string> {
  url: string;
  /** Folder of the migrations `NNNN_*.sql`. The service starts only when they have been applied. */
  migrations: string;
  /**
   * Pools by their name in metrics. The first one with `waits: 'all'` checks the schema and reads the
   * state.
   */
  pools: Readonly<Record<Name, PoolSettings>>;
  /** The role of the connection for the service's readiness. Default: the first pool's. */
  readyAs?: string;
  /** How late runs are counted, if the service counts them. `system` is its pool of `<service>_system`. */
  usageLagSeconds?: (system: Pool) => Promise<number | null>;
}

/** One tenant could use two connections at once, for as long as a statement may take. */
const leastForTenants = 3;

/**
 * The work that waits for the connections of a pool:
 * - `tenants`: requests, calls and jobs of one tenant each. They take turns by tenant (`withTenant`, `inTenantOrder`), so the
 *   pool has at least three connections, and one tenant never all of them. In a process with several services these
 *   pools share a number of connections, of which one tenant has half at most.
 * - `unproved`: requests whose key, cookie, code or signature is not proved yet
 * - `all`: work for many tenants together, such as the run log and job queues, and requests of owners
 */
export type Waiting = 'tenants' | 'unproved' | 'all';

export interface PoolSettings extends Omit<PoolOptions, 'url' | 'log'> {
  waits: Waiting;
  /** Whether it shares no connections in a process with several services: its work lasts as long as a client reads. */
  apart?: true;
}

/** The options of a pool. Throws if a role with one tenant at a time would work without turns by tenant. */
export function poolOptions({ waits, apart: _, ...options }: PoolSettings): Omit<PoolOptions, 'url' | 'log'> {
  const { role, max, perTenant } = options;
  if (waits === 'tenants') return { ...options, max: Math.max(leastForTenants, max), inTurns: true };
  if (role.endsWith('_app') || perTenant !== undefined)
    throw new Error(`a pool of ${role} for one tenant at a time must wait for 'tenants', not '${waits}'`);
  return options;
}

const sharedOfProcesses = new WeakMap<ConnectionCount, SharedConnections>();

/** The connections shared by pools of one process; undefined if each has its own. */
function sharedIn(connections: ConnectionCount): SharedConnections | undefined {
  if (connections.shared === Infinity) return undefined;
  const shared = sharedOfProcesses.get(connections) ?? new SharedConnections(connections.shared);
  sharedOfProcesses.set(connections, shared);
  return shared;
}

/**
 * Creates the connection pools of a service. They close last. The service starts only if the server allows its process
 * this many connections, and is ready only while the database answers. Metrics show their connections and waiting work,
 * and operators the state the database has of the service.
 */
export function createPools<Name extends string>(
  shell: Shell,
  { url, migrations: directory, pools: wanted, readyAs, usageLagSeconds }: DatabaseOptions<Name>,
): Record<Name, Pool> {
  const { name: service, log, registry } = shell;
  const { connections } = shell;
  const named = Object.entries<PoolSettings>(wanted).map(([name, settings]) => {
    const { role, waits, apart } = settings;
    const shared = waits === 'tenants' && apart !== true ? sharedIn(connections) : undefined;
    const pool = createPool({ url, log, shared, ...poolOptions(settings) });
    shell.add({ stop: () => pool.end() });
    connections.add(url, pool.options.max, { isShared: shared !== undefined });
    return { name, pool, role, waits };
  });
  const [first] = named;
  const system = named.find(({ waits }) => waits === 'all')?.pool;
  if (first === undefined || system === undefined)
    throw new Error(`${service} must have a pool that waits for 'all'`);
  const check = new DatabaseCheck({ url, role: readyAs ?? first.role, service, log });
  // Opens its connection, by which operators see the replica, also where no probe asks: a process of all services is
  // ready by chat alone.
  shell.add({ start: async () => void (await check.answers()), stop: () => check.stop() });
  connections.add(url, 1);
  shell.require('database', () => check.answers());
  shell.add(schemaCheck({ pool: system, service, directory, log }));
  shell.add({ start: () => checkConnections(connections, { db: system, url, log }) });
  const pools = Object.fromEntries(named.map(({ name, pool }) => [name, pool])) as Record<Name, Pool>;
  shell.serve(systemState(service, { pool: system, usageLagSeconds }));
  observePools(registry, pools);
  return pools;
}
