import { cacheKey } from '@gatehouse/kit/cache-key';
import type { Logger } from '@gatehouse/kit/log';
import { Gauge, type Registry } from '@gatehouse/kit/metrics';
import { deploymentName, deploymentsOf, type Catalogue, type Model } from '../catalogue/catalogue.ts';
import { isPattern } from '../catalogue/model-names.ts';
import { hasPool, type Provider } from '../catalogue/provider-schema.ts';
import type { Breaker } from './breaker.ts';
import { Breakers } from './breakers.ts';
import { Choices } from './choice.ts';
import type { ProviderAdapter } from './adapter.ts';
import { HttpAdapter } from './http-adapter.ts';
import type { Secrets } from './credentials.ts';
import { KeyPool, type KeySource } from './key-pool.ts';
import { MissingMethods } from './missing-methods.ts';
import { kindOf, poolKeysOf } from './provider-kinds.ts';
import { SealMakers } from './seal-makers.ts';

/** A model at its provider. */
export interface Deployment {
  adapter: ProviderAdapter;
  breaker: Breaker;
  /** Null for a provider without several keys. */
  keys: KeyPool | null;
}

export interface RegistryOptions {
  catalogue: Catalogue;
  secrets: Secrets;
  metrics: Registry;
  log?: Logger;
  /** Called when a provider begins to refuse a key of its pool, which is named by its position. */
  onKeyFailing?: (provider: string, position: number) => void;
}

/** The deployments of the catalogue: one adapter a provider, one breaker a provider and upstream model. */
export class ProviderRegistry {
  readonly #catalogue: Catalogue;
  readonly #adapters: Map<string, ProviderAdapter>;
  readonly #pools: Map<string, KeyPool>;
  readonly #breakers = new Breakers();
  readonly #deployments = new WeakMap<Model, Deployment>();
  readonly #choices = new Choices();
  readonly seals = new SealMakers();
  readonly missing = new MissingMethods();

  constructor(options: RegistryOptions) {
    const { catalogue, secrets, metrics, log } = options;
    this.#catalogue = catalogue;
    const onFailure = (provider: Provider) => (err: Error) => {
      log?.warn({ provider: provider.name, err }, 'failed to renew credentials for a provider');
    };
    this.#adapters = new Map(
      catalogue.providers.map((provider) => [
        provider.name,
        new HttpAdapter(provider, kindOf(provider, secrets, onFailure(provider))),
      ]),
    );
    this.#pools = new Map(
      catalogue.providers
        .filter(hasPool)
        .map((provider) => [
          provider.name,
          this.#poolOf(provider, poolKeysOf(provider, secrets, onFailure(provider)), options),
        ]),
    );
    for (const deployment of this.#entries) this.get(deployment);
    this.#observe(metrics);
  }

  /** `model` must be of the registry's catalogue. */
  get(model: Model): Deployment {
    const known = this.#deployments.get(model);
    if (known !== undefined) return known;
    const adapter = this.#adapters.get(model.provider.name);
    if (adapter === undefined) throw new Error(`no adapter for provider ${model.provider.name}`);
    const keys = this.#pools.get(model.provider.name) ?? null;
    const made = { adapter, breaker: this.#breakers.of(model), keys };
    this.#deployments.set(model, made);
    return made;
  }

  /** The deployments of a model in the order in which a session goes to them. */
  ordered(model: Model, affinity: string | null): readonly Model[] {
    const members = deploymentsOf(model).map((deployment) => ({
      ...{ deployment, name: deploymentName(deployment), weight: deployment.weight },
    }));
    return this.#choices.order(groupOf(model), members, affinity).map(({ deployment }) => deployment);
  }

  /** A model of a chain has answered a session, which stays with that deployment. */
  answered(model: Model, { chain, affinity }: { chain: readonly Model[]; affinity: string | null }): void {
    const deployments = chain.filter(({ id }) => id === model.id);
    if (affinity === null || deployments.length < 2) return;
    const wasFirst = deployments[0] === model;
    this.#choices.served(groupOf(model), deploymentName(model), { affinity, wasFirst });
  }

  /** Deployments whose breaker is open for all tenants; a pattern stands for all names behind it. */
  down(): Model[] {
    return this.#entries.filter((deployment) => this.#isOpen(deployment));
  }

  #poolOf({ name }: Provider, keys: readonly KeySource[], { log, onKeyFailing }: RegistryOptions): KeyPool {
    const onFailing = (position: number, status: number | null): void => {
      log?.warn({ provider: name, key: position, status }, 'a provider refuses a key, which rests');
      onKeyFailing?.(name, position);
    };
    return new KeyPool({ provider: name, keys, choices: this.#choices, onFailing });
  }

  async close(): Promise<void> {
    for (const pool of this.#pools.values()) pool.close();
    await Promise.all([...this.#adapters.values()].map((adapter) => adapter.close()));
  }

  /** The deployments of the catalogue. */
  get #entries(): Model[] {
    return [...this.#catalogue.models.values()].flatMap(deploymentsOf);
  }

  #breakersOf(entry: Model): Breaker[] {
    return isPattern(entry.id) ? [...this.#breakers.behind(entry)] : [this.get(entry).breaker];
  }

  #isOpen(entry: Model): boolean {
    return this.#breakersOf(entry).some(({ isOpen }) => isOpen);
  }

  #observe(metrics: Registry): void {
    const labelNames = ['provider', 'model'] as const;
    const registers = [metrics];
    const labels = ({ provider, upstreamModel }: Model) => ({
      provider: provider.name,
      model: upstreamModel,
    });
    const models = (): Model[] => this.#entries;
    const isOpen = (model: Model): boolean => this.#isOpen(model);
    const openTenants = (model: Model): number =>
      this.#breakersOf(model).reduce((sum, breaker) => sum + breaker.openTenants, 0);
    new Gauge({
      name: 'gatehouse_provider_breaker_open',
      help: '1 while the breaker is open for all tenants, else 0',
      labelNames,
      registers,
      collect() {
        for (const model of models()) this.set(labels(model), isOpen(model) ? 1 : 0);
      },
    });
    new Gauge({
      name: 'gatehouse_provider_breaker_open_tenants',
      help: 'Tenants whose own circuit is open',
      labelNames,
      registers,
      collect() {
        for (const model of models()) this.set(labels(model), openTenants(model));
      },
    });
  }
}

/** The deployments of a model, among which sessions are divided. */
function groupOf({ id }: Model): string {
  return cacheKey('deployments', id);
}
