import { cacheKey } from '@gatehouse/kit/cache-key';
import { defaultDialect } from '@gatehouse/contract/dialects';
import type { Logger } from '@gatehouse/kit/log';
import { Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import type { ReadCatalogue } from '../catalogue/catalogue-file.ts';
import { deploymentName, deploymentsOf, type Catalogue, type Model } from '../catalogue/catalogue.ts';
import { isPattern } from '../catalogue/model-names.ts';
import { takesKeys, traitsOf, type Provider } from '../catalogue/provider-schema.ts';
import type { Target } from '../catalogue/target.ts';
import type { Rewrite } from '@gatehouse/dialects/dialect';
import type { Hasher, KeyRing } from '@gatehouse/secrets/key-ring';
import { dialectOf, dialects, type ApiName } from '@gatehouse/dialects/dialects';
import type { Breaker } from './breaker.ts';
import { CallMetrics, DeploymentCalls } from './call-metrics.ts';
import { Choices } from './choice.ts';
import type { HttpAdapter } from './http-adapter.ts';
import type { Credentials, Secrets } from './credentials.ts';
import type { KeyPool, KeyRotation } from './key-pool.ts';
import type { TenantProviderKey } from '../shared/tenant-settings.ts';
import { TenantKeyPools, type TenantKeyPoolsOptions } from './tenant-key-pools.ts';
import { ProviderAccesses, type ProviderAccess } from './provider-accesses.ts';
import { freeCallOf, keyHeaders } from './provider-kinds.ts';
import type { DeploymentState, CatalogueDeployment } from './provider-report.ts';
import { ProviderResources, type AskedObject, type KeyName } from './resources.ts';
import { Cooldowns } from './cooldowns.ts';
import { RefusedNames } from './refused-names.ts';
import {
  dividedApis,
  originBy,
  originOf,
  readsSignatures,
  type SignatureOrigins,
} from './signature-origins.ts';

/** A model at its provider. */
export interface Deployment {
  adapter: HttpAdapter;
  breaker: Breaker;
  /** Those of a name behind a pattern count for the pattern. */
  calls: DeploymentCalls;
  /** Null for a provider without several keys. */
  keys: KeyPool | null;
}

/** The payer of a call. */
export interface KeyPayer {
  tenantId: string;
  ownKeys: ReadonlyMap<Model, TenantProviderKey> | null;
}

/** A request with possible signatures. */
export interface SignedRequest {
  /** The API of the client. */
  api: ApiName;
  signatures: SignatureOrigins | null;
  target: Target;
  tenantId: string;
}

export interface RegistryOptions {
  catalogue: Catalogue;
  secrets: Secrets;
  metrics: Registry;
  keyRing: KeyRing;
  log?: Logger;
  /** Called when a provider begins to refuse a key of its pool, which is named by its position. */
  onKeyFailing?: (provider: string, position: number) => void;
  /** Absent where no call has an own key of a tenant. */
  ownKeys?: Omit<TenantKeyPoolsOptions, 'keyRing'>;
}

/** The deployments of the catalogue: one adapter a provider, one breaker a provider and upstream model. */
export class ProviderRegistry {
  readonly #keyRing: KeyRing;
  readonly #metrics: CallMetrics;
  readonly #accesses: ProviderAccesses;
  /** The deployments of the catalogue, by their names. */
  #listed: ReadonlyMap<string, CatalogueDeployment> = new Map();
  /** The calls of the deployments called so far, by their names. */
  readonly #calls = new Map<string, DeploymentCalls>();
  readonly #deployments = new WeakMap<Model, Deployment>();
  readonly #choices = new Choices();
  readonly #ownKeys: TenantKeyPools | null;
  /** APIs of clients with signatures of possibly several origins. */
  #divided: ReadonlySet<ApiName> = new Set();
  /** Hints that deployments have refused. */
  readonly refused = new RefusedNames();
  /** Methods found missing at servers. */
  readonly missing = new Cooldowns();

  constructor({ catalogue, secrets, metrics, keyRing, log, onKeyFailing, ownKeys }: RegistryOptions) {
    this.#keyRing = keyRing;
    this.#metrics = new CallMetrics(metrics);
    this.#ownKeys = ownKeys === undefined ? null : new TenantKeyPools({ ...ownKeys, keyRing });
    this.#accesses = new ProviderAccesses({
      ...{ log, onKeyFailing, metrics: this.#metrics, choices: this.#choices },
    });
    this.replaceBy({ catalogue, secrets });
    const models = (): Model[] => this.#called.map(({ deployment }) => deployment);
    observeProviders(metrics, {
      models,
      isOpen: (model) => this.#isOpen(model),
      openTenants: (model) => this.#openTenants(model),
      pools: () =>
        [...new Set(models().map((model) => this.#accesses.accessOf(model).keys))].filter(
          (keys) => keys !== null,
        ),
    });
  }

  /**
   * Takes over the providers of another catalogue; throws before anything has changed. An unchanged provider keeps its
   * connections, breakers and keys. Runs under way end at the providers they began with.
   */
  replaceBy(read: ReadCatalogue): void {
    this.#accesses.replaceBy(read);
    const listed = new Map<string, CatalogueDeployment & { models: string[] }>();
    const deployments: [Model, readonly (string | null)[]][] = [];
    for (const entry of read.catalogue.models.values())
      for (const deployment of deploymentsOf(entry)) {
        const { keys } = this.#accesses.accessOf(deployment);
        const name = deploymentName(deployment);
        const known = listed.get(name);
        if (known !== undefined) known.models.push(entry.id);
        else
          listed.set(name, {
            deployment,
            models: [entry.id],
            keys: keys?.ids.map((_id, at) => at + 1) ?? [],
          });
        deployments.push([deployment, keys?.ids ?? [null]]);
      }
    this.#listed = listed;
    this.#divided = dividedApis(deployments);
  }

  /** `model` must be of a present or earlier catalogue of the registry. */
  get(model: Model): Deployment {
    const known = this.#deployments.get(model);
    if (known !== undefined) return known;
    const { adapter, breakers, keys } = this.#accesses.accessOf(model);
    const made = { adapter, breaker: breakers.breakerOf(model), calls: this.#callsOf(model), keys };
    this.#deployments.set(model, made);
    return made;
  }

  /** An ended call of a model has no price. */
  noteUnpriced(model: Model): void {
    this.#callsOf(model).window.unpriced();
  }

  #callsOf(model: Model): DeploymentCalls {
    const entry = model.pattern ?? model;
    const name = deploymentName(entry);
    const calls = this.#calls.get(name) ?? new DeploymentCalls(entry, this.#metrics);
    this.#calls.set(name, calls);
    return calls;
  }

  /**
   * Whether signatures of an API's clients may have several origins, so their maker matters. `hasOwn`: whether the
   * tenant has keys of its own, beside the platform's.
   */
  dividesSignatures(client: ApiName, hasOwn: boolean): boolean {
    if (this.#divided.has(client)) return true;
    return hasOwn && dialects[client].signatures?.readers === 'key';
  }

  /** Hashes for a tenant's clients to prove marked signatures their own. */
  signatureMacs(tenantId: string): Hasher {
    return this.#keyRing.hasher(JSON.stringify(['marked seal', tenantId]));
  }

  /** The signatures of a request for a model with the key of a rotation. */
  signaturesFor(
    model: Model,
    rotation: KeyRotation | null,
    { api, signatures, target, tenantId }: SignedRequest,
  ): Pick<Rewrite, 'keepsSignature'> {
    if (signatures === null || !readsSignatures(api, model)) return {};
    const { chain, affinity, ownKeys } = target;
    const firstOrigin = (): string => {
      const [first] = chain;
      const firstKeys = this.keysFor(first, { tenantId, ownKeys })?.selectKey({
        ...{ operation: 'chat', model: first.upstreamModel, tenantId, affinity },
      });
      return originOf(first, firstKeys?.first?.id ?? null);
    };
    return { keepsSignature: signatures.keeps(originBy(model, rotation), firstOrigin) };
  }

  /**
   * The keys for a call of a model: the tenant's own, or those of the provider's pool; null for its one key or no key.
   */
  keysFor(model: Model, { tenantId, ownKeys }: KeyPayer): KeyPool | null {
    const own = ownKeys?.get(model);
    if (own === undefined) return this.get(model).keys;
    if (this.#ownKeys === null) throw new Error('no key of a tenant is expected');
    return this.#ownKeys.poolOf(model.provider, tenantId, own);
  }

  /**
   * Files and batches of a model's provider, by one of its payer's keys. A file can't be sent twice, so each key is
   * first tried with a free request. Throws a `ProviderFailure` where no key is left.
   */
  async resourcesFor(
    model: Model,
    payer: KeyPayer,
    { path, isAnswer, signal }: Pick<AskedObject, 'path' | 'isAnswer' | 'signal'>,
  ): Promise<{ resources: ProviderResources; key: KeyName }> {
    const access = this.#accesses.accessOf(model);
    const { name: provider } = model.provider;
    const pool = this.keysFor(model, payer);
    if (pool === null)
      return { resources: resourcesAt(access, undefined), key: { provider, keyId: null, ownKeyId: null } };
    const call = { operation: 'batches', model: model.upstreamModel, tenantId: payer.tenantId };
    return pool.selectKey({ ...call, affinity: null }).sent(async (key) => {
      const resources = resourcesAt(access, key?.credentials);
      await resources.json({ method: 'GET', path, isAnswer, signal });
      const own = payer.ownKeys?.get(model);
      const keyId = own === undefined ? (key?.id ?? null) : null;
      return { resources, key: { provider, keyId, ownKeyId: own?.id ?? null } };
    });
  }

  /** The same by the key taken then, which may have changed since; null where provider or key are gone. */
  resourcesOf(
    { provider: name, keyId, ownKeyId }: KeyName,
    { tenantId, ownKeys }: { tenantId: string; ownKeys: readonly TenantProviderKey[] },
  ): ProviderResources | null {
    const access = this.#accesses.accessByName(name);
    if (access === undefined) return null;
    if (ownKeyId === null) {
      if (keyId === null) return access.keys === null ? resourcesAt(access, undefined) : null;
      const key = access.keys?.named(keyId);
      return key === undefined ? null : resourcesAt(access, key.credentials);
    }
    const own = ownKeys.find(({ id, provider }) => id === ownKeyId && provider === name);
    const pool = own === undefined ? undefined : this.#ownKeys?.poolOf(access.provider, tenantId, own);
    const key = pool?.named(pool.ids[0]);
    return key === undefined ? null : resourcesAt(access, key.credentials);
  }

  /** Whether a provider accepts a key of a tenant, by a free call; null without one, or if it fails. */
  async acceptsKey(provider: Provider, key: string): Promise<boolean | null> {
    const call = freeCallOf(provider);
    if (call === null || !takesKeys(provider)) return null;
    const headers = keyHeaders(provider.kind, key);
    const status = await this.#accesses.accessByName(provider.name)?.adapter.statusOf(call.path, headers);
    if (status === call.refusal) return false;
    return status === 200 ? true : null;
  }

  /** The deployments of a model in the order in which a session goes to them. */
  deploymentOrder(model: Model, affinity: string | null): readonly Model[] {
    if (model.others.length === 0) return [model];
    const members = deploymentsOf(model).map((deployment) => ({
      ...{ deployment, name: deploymentName(deployment), weight: deployment.weight },
    }));
    return this.#choices.order(groupOf(model), members, affinity).map(({ deployment }) => deployment);
  }

  /** A model of a chain has answered a session, which stays with this deployment. */
  answered(model: Model, { chain, affinity }: { chain: readonly Model[]; affinity: string | null }): void {
    const deployments = chain.filter(({ id }) => id === model.id);
    if (affinity === null || deployments.length < 2) return;
    const wasFirst = deployments[0] === model;
    this.#choices.served(groupOf(model), deploymentName(model), { affinity, wasFirst });
  }

  /** Deployments with a breaker open for all tenants; a pattern stands for all names behind it. */
  openDeployments(): CatalogueDeployment[] {
    return this.#called.filter(({ deployment }) => this.#isOpen(deployment));
  }

  /** The deployments of the catalogue, each once, with the models it serves. */
  listed(): CatalogueDeployment[] {
    return [...this.#listed.values()];
  }

  /** The called deployments, as this replica sees them. */
  *states(): Steps<DeploymentState[]> {
    const states: DeploymentState[] = [];
    for (const { deployment } of this.#called) {
      yield;
      states.push({
        name: deploymentName(deployment),
        isOpen: this.#isOpen(deployment),
        openTenants: this.#openTenants(deployment),
        keys: this.#accesses.accessOf(deployment).keys?.states(deployment.upstreamModel) ?? [],
        calls: this.#callsOf(deployment).window.counts,
      });
    }
    return states;
  }

  close(): Promise<void> {
    return this.#accesses.close();
  }

  get #called(): CatalogueDeployment[] {
    return [...this.#calls.keys()].flatMap((name) => this.#listed.get(name) ?? []);
  }

  #breakersOf(entry: Model): Breaker[] {
    return isPattern(entry.id)
      ? [...this.#accesses.accessOf(entry).breakers.behind(entry)]
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
  const format = dialectOf(traitsOf(provider.kind).apis[0]) ?? dialects[defaultDialect];
  // Errors of files and batches of OpenAI's API are written by the gateway.
  const keepsErrorBodies = format !== dialects[defaultDialect];
  return new ProviderResources({ provider, adapter, credentials, format, keepsErrorBodies });
}

/** The deployments of a model, among which sessions are divided. */
function groupOf({ id }: Model): string {
  return cacheKey('deployments', id);
}

interface Observed {
  models: () => readonly Model[];
  isOpen: (model: Model) => boolean;
  openTenants: (model: Model) => number;
  pools: () => readonly KeyPool[];
}

/** The state of deployments and keys, collected when metrics are read. */
function observeProviders(metrics: Registry, { models, isOpen, openTenants, pools }: Observed): void {
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
      for (const pool of pools())
        for (const { position, reason } of pool.states())
          for (const each of ['limited', 'refused'])
            this.set(
              { provider: pool.provider, key: String(position), reason: each },
              reason === each ? 1 : 0,
            );
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
