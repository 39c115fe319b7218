import { Gauge, type Registry } from '@gatehouse/kit/metrics';
import { waitingFor, type Pool } from './pool.ts';

/** Registers metrics of a service's pools, labelled with the names given here. */
export function observePools(registry: Registry, pools: Readonly<Record<string, Pool>>): void {
  const named = Object.entries(pools);
  const registers = [registry];
  new Gauge({
    name: 'gatehouse_database_connections',
    help: 'Connections to the database',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [pool, { idleCount, totalCount }] of named) {
        this.set({ pool, state: 'idle' }, idleCount);
        this.set({ pool, state: 'used' }, totalCount - idleCount);
      }
    },
  });
  new Gauge({
    name: 'gatehouse_database_connections_max',
    help: 'Connections that the pool may open',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, { options }] of named) this.set({ pool }, options.max);
    },
  });
  new Gauge({
    name: 'gatehouse_database_waiting',
    help: 'Statements and transactions waiting for a connection',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [name, pool] of named) this.set({ pool: name }, waitingFor(pool));
    },
  });
}
