import { cacheKey } from '@gatehouse/kit/cache-key';
import type { Logger } from '@gatehouse/kit/log';
import { Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { Catalogue, Model } from '../catalogue/catalogue.ts';
import { Breaker } from './breaker.ts';
import type { ProviderAdapter } from './adapter.ts';
import { HttpAdapter } from './http-adapter.ts';
import type { Secrets } from './credentials.ts';
import { kindOf } from './provider-kinds.ts';
import { SealMakers } from './seal-makers.ts';

/** A model at its provider. */
export interface Deployment {
  adapter: ProviderAdapter;
  breaker: Breaker;
}

/** The deployments of the catalogue: one adapter a provider, one breaker a provider and upstream model. */
export class ProviderRegistry {
  readonly #adapters: Map<string, ProviderAdapter>;
  readonly #deployments = new Map<Model, Deployment>();
  readonly seals = new SealMakers();

  constructor(catalogue: Catalogue, secrets: Secrets, metrics: Registry, log?: Logger) {
    this.#adapters = new Map(
      catalogue.providers.map((provider) => [
        provider.name,
        new HttpAdapter(
          provider,
          kindOf(provider, secrets, (err) => {
            log?.warn({ provider: provider.name, err }, 'failed to renew credentials for a provider');
          }),
        ),
      ]),
    );
    const breakers = new Map<string, Breaker>();
    for (const model of catalogue.models.values()) {
      const key = cacheKey(model.provider.name, model.upstreamModel);
      const breaker = breakers.get(key) ?? new Breaker();
      breakers.set(key, breaker);
      const adapter = this.#adapters.get(model.provider.name);
      if (adapter === undefined) throw new Error(`no adapter for provider ${model.provider.name}`);
      this.#deployments.set(model, { adapter, breaker });
    }
    observe(metrics, this.#deployments);
  }

  /** `model` must be of the registry's catalogue. */
  get(model: Model): Deployment {
    const deployment = this.#deployments.get(model);
    if (deployment === undefined) throw new Error(`no deployment for model ${model.id}`);
    return deployment;
  }

  /** Models whose breaker is open for all tenants. */
  down(): Model[] {
    return [...this.#deployments].filter(([, { breaker }]) => breaker.isOpen).map(([model]) => model);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#adapters.values()].map((adapter) => adapter.close()));
  }
}

function observe(metrics: Registry, deployments: ReadonlyMap<Model, Deployment>): void {
  const labelNames = ['provider', 'model'] as const;
  const registers = [metrics];
  const labels = ({ provider, upstreamModel }: Model) => ({ provider: provider.name, model: upstreamModel });
  new Gauge({
    name: 'gatehouse_provider_breaker_open',
    help: '1 while the breaker is open for all tenants, else 0',
    labelNames,
    registers,
    collect() {
      for (const [model, { breaker }] of deployments) this.set(labels(model), breaker.isOpen ? 1 : 0);
    },
  });
  new Gauge({
    name: 'gatehouse_provider_breaker_open_tenants',
    help: 'Tenants whose own circuit is open',
    labelNames,
    registers,
    collect() {
      for (const [model, { breaker }] of deployments) this.set(labels(model), breaker.openTenants);
    },
  });
}
