import { Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { Model } from '../catalogue/catalogue.ts';
import type { KeyPool } from './key-pool.ts';

interface Observed {
  models: () => readonly Model[];
  isOpen: (model: Model) => boolean;
  openTenants: (model: Model) => number;
  pools: () => readonly KeyPool[];
}

/** The state of deployments and keys, collected when metrics are read. */
export function observeProviders(metrics: Registry, { models, isOpen, openTenants, pools }: Observed): void {
  const labelNames = ['provider', 'model'] as const;
  const registers = [metrics];
  const labels = ({ provider, upstreamModel }: Model) => ({
    provider: provider.name,
    model: upstreamModel,
  });
  new Gauge({
    name: 'gatehouse_provider_breaker_open',
    help: '1 while the breaker of a deployment that was called is open for all tenants, else 0',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const model of models()) this.set(labels(model), isOpen(model) ? 1 : 0);
    },
  });
  new Gauge({
    name: 'gatehouse_provider_key_resting',
    help: '1 while a key of a pool rests for some model and tenant, else 0; by the reason: limited or refused',
    labelNames: ['provider', 'key', 'reason'],
    registers,
    collect() {
      this.reset();
      for (const { provider, resting } of pools())
        for (const { position, reason } of resting)
          for (const each of ['limited', 'refused'])
            this.set({ provider, key: String(position), reason: each }, reason === each ? 1 : 0);
    },
  });
  new Gauge({
    name: 'gatehouse_provider_breaker_open_tenants',
    help: 'Tenants whose own circuit is open',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const model of models()) this.set(labels(model), openTenants(model));
    },
  });
}
