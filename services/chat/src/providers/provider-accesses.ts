import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '@gatehouse/kit/log';
import type { ReadCatalogue } from '../catalogue/catalogue-file.ts';
import type { Model } from '../catalogue/catalogue.ts';
import { secretsOf, type Provider } from '../catalogue/provider-schema.ts';
import { Breakers } from './breaker.ts';
import type { CallMetrics, KeyOutcome } from './call-metrics.ts';
import type { Choices } from './choice.ts';
import type { Secrets } from './credentials.ts';
import { HttpAdapter } from './http-adapter.ts';
import { KeyPool, type KeySource } from './key-pool.ts';
import { kindOf, poolKeysOf } from './provider-kinds.ts';

/** A provider with its connections, its health and its keys. */
export interface ProviderAccess {
  provider: Provider;
  /** The secrets named by it, in their order. */
  secrets: readonly (string | undefined)[];
  adapter: HttpAdapter;
  breakers: Breakers;
  keys: KeyPool | null;
}

export interface ProviderAccessesOptions {
  log: Logger | undefined;
  metrics: CallMetrics;
  choices: Choices;
  /** Called when a provider begins to refuse a key of its pool, which is named by its position. */
  onKeyFailing: ((provider: string, position: number) => void) | undefined;
}

/** The ways to the providers of the catalogue. */
export class ProviderAccesses {
  readonly #options: ProviderAccessesOptions;
  /** By name. */
  #current: ReadonlyMap<string, ProviderAccess> = new Map();
  /** Accesses of earlier catalogues, too, for runs begun with them. */
  readonly #byProvider = new WeakMap<Provider, ProviderAccess>();
  /** Adapters of providers gone from the catalogue, while calls of them are under way. */
  readonly #retired = new Set<HttpAdapter>();

  constructor(options: ProviderAccessesOptions) {
    this.#options = options;
  }

  /** `model` must be of a catalogue in use now or before. */
  accessOf({ provider }: Model): ProviderAccess {
    const access = this.#byProvider.get(provider);
    if (access === undefined) throw new Error(`no adapter for provider ${provider.name}`);
    return access;
  }

  accessByName(name: string): ProviderAccess | undefined {
    return this.#current.get(name);
  }

  /**
   * Takes over the providers of another catalogue; throws before anything has changed. An unchanged one keeps its
   * connections, breakers and keys. Those of a removed one close when its calls under way are over.
   */
  replaceBy({ catalogue, secrets }: ReadCatalogue): void {
    const opened = catalogue.providers.map((provider) => {
      const known = keptAccess(this.#current.get(provider.name), provider, secrets);
      return [provider, known ?? this.#open(provider, secrets)] as const;
    });
    for (const [provider, access] of opened) this.#byProvider.set(provider, access);
    const before = this.#current;
    this.#current = new Map(opened.map(([{ name }, access]) => [name, access]));
    for (const [name, access] of before) if (this.#current.get(name) !== access) this.#retire(access.adapter);
  }

  async close(): Promise<void> {
    const accesses = [...this.#current.values()];
    for (const { keys } of accesses) keys?.close();
    const adapters = [...accesses.map(({ adapter }) => adapter), ...this.#retired];
    await Promise.all(adapters.map((adapter) => adapter.close()));
  }

  #retire(adapter: HttpAdapter): void {
    this.#retired.add(adapter);
    void adapter
      .retire()
      .catch((err: unknown) => this.#options.log?.warn({ err }, 'failed to close connections to a provider'))
      .finally(() => this.#retired.delete(adapter));
  }

  #open(provider: Provider, secrets: Secrets): ProviderAccess {
    const { name } = provider;
    const onFailure = (err: Error): void => {
      this.#options.log?.warn({ provider: name, err }, 'failed to renew credentials for a provider');
    };
    const adapter = new HttpAdapter(provider, kindOf(provider, secrets, onFailure));
    const keys = poolKeysOf(provider, secrets, onFailure);
    return {
      ...{ provider, secrets: valuesOf(provider, secrets), adapter, breakers: new Breakers() },
      keys: keys.length === 0 ? null : this.#poolOf(provider, keys),
    };
  }

  #poolOf({ name }: Provider, keys: readonly KeySource[]): KeyPool {
    const { log, metrics, choices, onKeyFailing } = this.#options;
    const onFailing = (position: number, status: number | null): void => {
      log?.warn({ provider: name, key: position, status }, 'a provider refuses a key, which rests');
      onKeyFailing?.(name, position);
    };
    const onUsed = (position: number, outcome: KeyOutcome): void => {
      if (this.#current.get(name)?.keys === pool) metrics.keyUsed(name, position, outcome);
    };
    const pool = new KeyPool({ provider: name, keys, choices, onFailing, onUsed });
    return pool;
  }
}

/** The access to a provider, if it and its secrets are still the same. */
function keptAccess(
  known: ProviderAccess | undefined,
  provider: Provider,
  secrets: Secrets,
): ProviderAccess | null {
  if (known === undefined || !isDeepStrictEqual(known.provider, provider)) return null;
  return isDeepStrictEqual(known.secrets, valuesOf(provider, secrets)) ? known : null;
}

function valuesOf(provider: Provider, secrets: Secrets): (string | undefined)[] {
  return secretsOf(provider).map((named) => secrets[named]);
}
