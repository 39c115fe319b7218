import { describe } from '@jest/globals';
import type { Logger } from '@gatehouse/kit/log';
import { pgStores, type Pools } from '../src/pg-store.ts';
import type { Stores } from '../src/stores.ts';

/** An engine with the data of the service. */
export interface Engine {
  name: string;
  /** The settings by which the service chooses it. */
  environment: Readonly<Record<string, string>>;
  /** The stores of a replica. */
  open: (pools: Pools, log: Logger) => Stores;
}

export const postgres: Engine = { name: 'PostgreSQL', environment: {}, open: pgStores };

/**
 * Describes behaviour required of every store, and tests it over each. Tests of partitions, plans and row-level security
 * are of PostgreSQL, and need no such description.
 */
export function describeStores(title: string, tests: (engine: Engine) => void): void {
  describe.each([postgres])(`${title}, over $name`, tests);
}
