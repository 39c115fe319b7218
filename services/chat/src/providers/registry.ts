import { Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { Catalogue, Provider } from '../domain/catalogue.ts';
import { Breaker } from '../domain/breaker.ts';
import type { ProviderAdapter } from './adapter.ts';
import { OpenAiAdapter } from './openai-adapter.ts';

/** A provider with what stands between it and the requests for it. */
export interface ProviderEntry {
  adapter: ProviderAdapter;
  breaker: Breaker;
}

/** The providers of the catalogue, each with one adapter and one breaker. */
export class ProviderRegistry {
  readonly #entries: Map<string, ProviderEntry>;

  /** `keys`: API key by provider name. */
  constructor(catalogue: Catalogue, keys: Readonly<Record<string, string | undefined>>, metrics: Registry) {
    const entries = new Map(
      catalogue.providers.map((provider) => [
        provider.name,
        { adapter: createAdapter(provider, keys[provider.name]), breaker: new Breaker() },
      ]),
    );
    this.#entries = entries;
    new Gauge({
      name: 'gatehouse_provider_breaker_open',
      help: 'Whether this replica leaves the provider alone after failures: 1 for yes, 0 for no',
      labelNames: ['provider'],
      registers: [metrics],
      collect() {
        for (const [provider, { breaker }] of entries) this.set({ provider }, breaker.isOpen ? 1 : 0);
      },
    });
  }

  get(provider: Provider): ProviderEntry {
    const entry = this.#entries.get(provider.name);
    if (entry === undefined) throw new Error(`no adapter for provider ${provider.name}`);
    return entry;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ adapter }) => adapter.close()));
  }
}

/** One constructor per kind of the catalogue: a kind without an adapter does not compile. */
const adapters: Record<
  Provider['kind'],
  new (provider: Provider, apiKey: string | undefined) => ProviderAdapter
> = {
  openai: OpenAiAdapter,
};

function createAdapter(provider: Provider, apiKey: string | undefined): ProviderAdapter {
  return new adapters[provider.kind](provider, apiKey);
}
