import { DatabaseCheck } from '@gatehouse/pg/database-check';
import { createPool, type Pool, type PoolOptions } from '@gatehouse/pg/pool';
import { observePools } from '@gatehouse/pg/pool-metrics';
import { schemaCheck } from '@gatehouse/pg/schema-check';
import type { Shell } from './shell.ts';

export interface DatabaseOptions<Name extends string> {
  url: string;
  /** Folder of the service's `NNNN_*.sql`: the service starts only on a schema that they have made. */
  migrations: string;
  /** By the name that metrics call them. The first one checks the schema. */
  pools: Readonly<Record<Name, Omit<PoolOptions, 'url' | 'log'>>>;
}

/**
 * The connection pools of a service. They are closed last, and the service is ready while the database answers.
 * Measured while it runs: connections, and what waits for one.
 */
export function createPools<Name extends string>(
  shell: Shell,
  { url, migrations: directory, pools: wanted }: DatabaseOptions<Name>,
): Record<Name, Pool> {
  const { name: service, log, registry } = shell;
  const named = Object.entries<Omit<PoolOptions, 'url' | 'log'>>(wanted).map(
    ([name, options]) => [name, createPool({ url, log, ...options }), options.role] as const,
  );
  for (const [, pool] of named) shell.add({ stop: () => pool.end() });
  const [first] = named;
  if (first === undefined) throw new Error(`${service} has no pool`);
  const [, pool, role] = first;
  const check = new DatabaseCheck({ url, role, log });
  shell.add(check);
  shell.require('database', () => check.answers());
  shell.add(schemaCheck({ pool, service, directory, log }));
  const pools = Object.fromEntries(named.map(([name, made]) => [name, made])) as Record<Name, Pool>;
  observePools(registry, pools);
  return pools;
}
