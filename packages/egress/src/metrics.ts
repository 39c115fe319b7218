import { Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { Egress } from './egress.ts';

/** Registers metrics of a service's ways out, labelled with the names given here. */
export function observeEgress(registry: Registry, ways: Readonly<Record<string, Egress>>): void {
  const named = Object.entries(ways);
  const registers = [registry];
  new Gauge({
    name: 'gatehouse_egress_calls',
    help: 'Calls to addresses of tenants and providers that are under way, or wait for their turn',
    labelNames: ['way', 'state'],
    registers,
    collect() {
      for (const [way, { calls }] of named) {
        this.set({ way, state: 'running' }, calls.running);
        this.set({ way, state: 'waiting' }, calls.waiting);
      }
    },
  });
  new Gauge({
    name: 'gatehouse_egress_calls_max',
    help: 'Calls that may be under way at the same time',
    labelNames: ['way'],
    registers,
    collect() {
      for (const [way, { maxCalls }] of named) this.set({ way }, maxCalls.all);
    },
  });
}
