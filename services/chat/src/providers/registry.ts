import { isDeepStrictEqual } from 'node:util';
import { cacheKey } from '@gatehouse/kit/cache-key';
import type { Logger } from '@gatehouse/kit/log';
import type { Registry } from '@gatehouse/kit/metrics';
import type { ReadCatalogue } from '../catalogue/catalogue-file.ts';
import { deploymentName, deploymentsOf, type Catalogue, type Model } from '../catalogue/catalogue.ts';
import { isPattern } from '../catalogue/model-names.ts';
import { secretsOf, type Provider } from '../catalogue/provider-schema.ts';
import type { Target } from '../catalogue/target.ts';
import type { Rewrite } from '../dialects/dialect.ts';
import { dialects, type ApiName } from '../dialects/dialects.ts';
import type { Breaker } from './breaker.ts';
import { Breakers } from './breakers.ts';
import { CallMetrics, DeploymentCalls, type KeyOutcome } from './call-metrics.ts';
import { Choices } from './choice.ts';
import type { ProviderAdapter } from './adapter.ts';
import { HttpAdapter } from './http-adapter.ts';
import type { Credentials, Secrets } from './credentials.ts';
import { KeyPool, type KeySource, type KeyTurn } from './key-pool.ts';
import type { OwnKey } from '../shared/tenant-settings.ts';
import { freeCallOf } from './key-check.ts';
import { makerBy, makerOf, readsSeals } from './makers.ts';
import { MissingMethods } from './missing-methods.ts';
import { OwnKeyPools, type OwnKeyPoolsOptions } from './own-key-pools.ts';
import { keyHeaders, kindOf, poolKeysOf } from './provider-kinds.ts';
import type { DeploymentState, Listed } from './provider-report.ts';
import { observeProviders } from './registry-metrics.ts';
import { ProviderResources, type KeyName } from './resources.ts';
import type { RunSeals } from './run-seals.ts';

/** A model at its provider. */
export interface Deployment {
  adapter: ProviderAdapter;
  breaker: Breaker;
  /** Those of a name behind a pattern count for the pattern. */
  calls: DeploymentCalls;
  /** Null for a provider without several keys. */
  keys: KeyPool | null;
}

/** A provider with its connections, its health and its keys. */
interface ProviderAccess {
  provider: Provider;
  /** Those that it names, in their order. */
  secrets: readonly (string | undefined)[];
  adapter: HttpAdapter;
  breakers: Breakers;
  keys: KeyPool | null;
}

/** The payer of a call. */
export interface KeyPayer {
  tenantId: string;
  ownKeys: ReadonlyMap<Model, OwnKey> | null;
}

/** A request that may have seals. */
export interface SealedRequest {
  /** The API of the client. */
  api: ApiName;
  seals: RunSeals | null;
  target: Target;
  tenantId: string;
}

export interface RegistryOptions {
  catalogue: Catalogue;
  secrets: Secrets;
  metrics: Registry;
  log?: Logger;
  /** Called when a provider begins to refuse a key of its pool, which is named by its position. */
  onKeyFailing?: (provider: string, position: number) => void;
  /** Absent where no call has an own key of a tenant. */
  ownKeys?: OwnKeyPoolsOptions;
}

/** The deployments of the catalogue: one adapter a provider, one breaker a provider and upstream model. */
export class ProviderRegistry {
  readonly #options: RegistryOptions;
  readonly #metrics: CallMetrics;
  /** By the name of the deployment. */
  readonly #calls = new Map<string, DeploymentCalls>();
  /** By name. */
  #accesses = new Map<string, ProviderAccess>();
  /** Those of earlier catalogues, too, for runs that began with them. */
  readonly #accessOf = new WeakMap<Provider, ProviderAccess>();
  readonly #deployments = new WeakMap<Model, Deployment>();
  /** Adapters of providers that have left the catalogue, while calls of them are under way. */
  readonly #retired = new Set<HttpAdapter>();
  readonly #choices = new Choices();
  readonly #ownKeys: OwnKeyPools | null;
  /** APIs of clients whose seals may have several makers. */
  #divided: ReadonlySet<ApiName> = new Set();
  readonly missing = new MissingMethods();

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#metrics = new CallMetrics(options.metrics);
    this.#ownKeys = options.ownKeys === undefined ? null : new OwnKeyPools(options.ownKeys);
    this.replaceBy(options);
    observeProviders(options.metrics, {
      models: () => this.#entries,
      isOpen: (model) => this.#isOpen(model),
      openTenants: (model) => this.#openTenants(model),
      pools: () => [...this.#accesses.values()].map(({ keys }) => keys).filter((keys) => keys !== null),
    });
  }

  /**
   * Takes over the providers of another catalogue. A provider that has not changed keeps its connections, breakers and
   * keys. Runs under way end at the providers that they began with, whose connections close once they are idle.
   */
  replaceBy({ catalogue, secrets }: ReadCatalogue): void {
    const before = this.#accesses;
    this.#accesses = new Map(
      catalogue.providers.map((provider) => {
        const access =
          keptAccess(before.get(provider.name), provider, secrets) ?? this.#open(provider, secrets);
        this.#accessOf.set(provider, access);
        return [provider.name, access];
      }),
    );
    const kept = new Set(this.#accesses.values());
    for (const access of before.values()) if (!kept.has(access)) this.#retire(access.adapter);
    const entries = entriesOf(catalogue).filter(({ id }) => !isPattern(id));
    const upstreamModels = new Map([...kept].map(({ breakers }) => [breakers, new Set<string>()]));
    for (const model of entries) upstreamModels.get(this.#accessTo(model).breakers)?.add(model.upstreamModel);
    for (const [breakers, names] of upstreamModels) breakers.keepOnly(names);
    for (const model of entries) this.get(model);
    this.#divided = this.#dividedIn(entriesOf(catalogue));
    const names = new Set(entriesOf(catalogue).map(deploymentName));
    for (const name of this.#calls.keys()) if (!names.has(name)) this.#calls.delete(name);
  }

  /** `model` must be of a catalogue that the registry has or had. */
  get(model: Model): Deployment {
    const known = this.#deployments.get(model);
    if (known !== undefined) return known;
    const { adapter, breakers, keys } = this.#accessTo(model);
    const made = { adapter, breaker: breakers.of(model), calls: this.#callsOf(model), keys };
    this.#deployments.set(model, made);
    return made;
  }

  #dividedIn(models: readonly Model[]): ReadonlySet<ApiName> {
    const makersFor = (client: ApiName): ReadonlySet<string> =>
      new Set(
        models
          .filter((model) => readsSeals(client, model))
          .flatMap((model) => (this.#accessTo(model).keys?.ids ?? [null]).map((key) => makerOf(model, key))),
      );
    const clients = Object.keys(dialects) as ApiName[];
    return new Set(clients.filter((client) => makersFor(client).size > 1));
  }

  #callsOf(model: Model): DeploymentCalls {
    const entry = model.pattern ?? model;
    const name = deploymentName(entry);
    const calls = this.#calls.get(name) ?? new DeploymentCalls(entry, this.#metrics);
    this.#calls.set(name, calls);
    return calls;
  }

  /**
   * Whether seals that clients of an API got may have several makers, so that it matters which one has made them. `hasOwn`:
   * whether the tenant has keys of its own, beside those of the platform.
   */
  dividesSeals(client: ApiName, hasOwn: boolean): boolean {
    if (this.#divided.has(client)) return true;
    return hasOwn && client === 'responses';
  }

  /** The seals of a request that go to a model with the key of a turn. */
  sealsFor(
    model: Model,
    turn: KeyTurn | null,
    { api, seals, target, tenantId }: SealedRequest,
  ): Pick<Rewrite, 'keepsSeal'> {
    if (seals === null || !readsSeals(api, model)) return {};
    const { chain, affinity, ownKeys } = target;
    const firstMaker = (): string => {
      const [first] = chain;
      const turnThere = this.keysFor(first, { tenantId, ownKeys })?.turn({
        ...{ model: first.upstreamModel, tenantId, affinity },
      });
      return makerOf(first, turnThere?.first?.id ?? null);
    };
    return { keepsSeal: seals.keeps(makerBy(model, turn), firstMaker) };
  }

  /** The keys for a call of a model: the tenant's own, or those of the provider's pool; null for its one key or none. */
  keysFor(model: Model, { tenantId, ownKeys }: KeyPayer): KeyPool | null {
    const own = ownKeys?.get(model);
    if (own === undefined) return this.get(model).keys;
    if (this.#ownKeys === null) throw new Error('no key of a tenant is expected');
    return this.#ownKeys.of(model.provider, tenantId, own);
  }

  /**
   * Files and batches of a model's provider, by one of its payer's keys. A file can't be sent twice, so each key is first
   * tried with a request that costs nothing. Throws a `ProviderFailure` where no key is left.
   */
  async resourcesFor(
    model: Model,
    payer: KeyPayer,
    signal: AbortSignal,
  ): Promise<{ resources: ProviderResources; key: KeyName }> {
    const access = this.#accessTo(model);
    const { name: provider } = model.provider;
    const pool = this.keysFor(model, payer);
    if (pool === null)
      return { resources: resourcesAt(access, undefined), key: { provider, keyId: null, ownKeyId: null } };
    const call = { model: `batches ${model.upstreamModel}`, tenantId: payer.tenantId, affinity: null };
    return pool.turn(call).sent(async (key) => {
      const resources = resourcesAt(access, key?.credentials);
      await resources.json({ method: 'GET', path: '/files?limit=1', signal });
      const own = payer.ownKeys?.get(model);
      const keyId = own === undefined ? (key?.id ?? null) : null;
      return { resources, key: { provider, keyId, ownKeyId: own?.id ?? null } };
    });
  }

  /** The same by the key that was taken then, which may have changed since; null where provider or key are gone. */
  resourcesOf(
    { provider: name, keyId, ownKeyId }: KeyName,
    { tenantId, ownKeys }: { tenantId: string; ownKeys: readonly OwnKey[] },
  ): ProviderResources | null {
    const access = this.#accesses.get(name);
    if (access === undefined) return null;
    if (ownKeyId === null) {
      if (keyId === null) return access.keys === null ? resourcesAt(access, undefined) : null;
      const key = access.keys?.named(keyId);
      return key === undefined ? null : resourcesAt(access, key.credentials);
    }
    const own = ownKeys.find(({ id, provider }) => id === ownKeyId && provider === name);
    const pool = own === undefined ? undefined : this.#ownKeys?.of(access.provider, tenantId, own);
    const key = pool?.named(pool.ids[0]);
    return key === undefined ? null : resourcesAt(access, key.credentials);
  }

  /** Whether a provider accepts a key of a tenant, by a call that costs nothing; null where there is none, or it fails. */
  async acceptsKey(provider: Provider, key: string): Promise<boolean | null> {
    const call = freeCallOf(provider);
    if (call === null || provider.kind === 'vertex') return null;
    const headers = keyHeaders(provider.kind, key);
    const status = await this.#accesses.get(provider.name)?.adapter.statusOf(call.path, headers);
    if (status === call.refusal) return false;
    return status === 200 ? true : null;
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

  /** The deployments of the catalogue, each once, with the models that it serves. */
  listed(): Listed[] {
    const listed = new Map<string, Listed & { models: string[] }>();
    for (const deployment of this.#entries) {
      const known = listed.get(deploymentName(deployment));
      const keys = this.#accessTo(deployment).keys?.resting.map(({ position }) => position) ?? [];
      if (known === undefined)
        listed.set(deploymentName(deployment), { deployment, models: [deployment.id], keys });
      else known.models.push(deployment.id);
    }
    return [...listed.values()];
  }

  /** The deployments as this replica sees them. */
  states(): DeploymentState[] {
    return this.listed().map(({ deployment }) => ({
      name: deploymentName(deployment),
      isOpen: this.#isOpen(deployment),
      openTenants: this.#openTenants(deployment),
      keys: this.#accessTo(deployment).keys?.states(deployment.upstreamModel) ?? [],
      calls: this.#callsOf(deployment).window.counts,
    }));
  }

  async close(): Promise<void> {
    const accesses = [...this.#accesses.values()];
    for (const { keys } of accesses) keys?.close();
    const adapters = [...accesses.map(({ adapter }) => adapter), ...this.#retired];
    await Promise.all(adapters.map((adapter) => adapter.close()));
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
    const { log, onKeyFailing } = this.#options;
    const onFailing = (position: number, status: number | null): void => {
      log?.warn({ provider: name, key: position, status }, 'a provider refuses a key, which rests');
      onKeyFailing?.(name, position);
    };
    const onUsed = (position: number, outcome: KeyOutcome): void =>
      this.#metrics.keyUsed(name, position, outcome);
    return new KeyPool({ provider: name, keys, choices: this.#choices, onFailing, onUsed });
  }

  #retire(adapter: HttpAdapter): void {
    this.#retired.add(adapter);
    const warn = (err: unknown): void =>
      this.#options.log?.warn({ err }, 'failed to close connections to a provider');
    void adapter
      .retire()
      .then(undefined, warn)
      .finally(() => this.#retired.delete(adapter));
  }

  #accessTo({ provider }: Model): ProviderAccess {
    const access = this.#accessOf.get(provider);
    if (access === undefined) throw new Error(`no adapter for provider ${provider.name}`);
    return access;
  }

  /** The deployments of the catalogue. */
  get #entries(): Model[] {
    return entriesOf(this.#options.catalogue);
  }

  #breakersOf(entry: Model): Breaker[] {
    return isPattern(entry.id)
      ? [...this.#accessTo(entry).breakers.behind(entry)]
      : [this.get(entry).breaker];
  }

  #isOpen(entry: Model): boolean {
    return this.#breakersOf(entry).some(({ isOpen }) => isOpen);
  }

  #openTenants(entry: Model): number {
    return this.#breakersOf(entry).reduce((sum, { openTenants }) => sum + openTenants, 0);
  }
}

function resourcesAt(
  { provider, adapter }: ProviderAccess,
  credentials: Credentials | undefined,
): ProviderResources {
  const format = provider.kind === 'anthropic' ? dialects.messages : dialects.chat;
  return new ProviderResources({ provider, adapter, credentials, format });
}

function entriesOf({ models }: Catalogue): Model[] {
  return [...models.values()].flatMap(deploymentsOf);
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

/** The deployments of a model, among which sessions are divided. */
function groupOf({ id }: Model): string {
  return cacheKey('deployments', id);
}
