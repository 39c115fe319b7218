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
  pools: Readonly<Record<Name, Omit<PoolOptions, 'url' | 'log'>>>;
  /** The role whose connection decides whether the service is ready. Default: that of the first pool. */
  readyAs?: string;
  /** How late runs are counted, if the service does that. `system` is its pool of `<service>_system`. */
  usageLagSeconds?: (system: Pool) => Promise<number | null>;
}

/** One tenant could use two connections at once, for as long as a statement may take. */
const leastForTenants = 3;

/** The size of a pool that requests of tenants use: a tenant never has all of its connections. */
export function forTenants(max: number): number {
  return Math.max(leastForTenants, max);
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
  const named = Object.entries<Omit<PoolOptions, 'url' | 'log'>>(wanted).map(
    ([name, options]) => [name, createPool({ url, log, ...options }), options.role] as const,
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
