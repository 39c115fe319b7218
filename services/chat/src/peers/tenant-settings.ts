import { hangIsOutage, isOutage } from '@gatehouse/grpc/errors';
import type { CallContext, Peer } from '@gatehouse/grpc/client';
import { OutageCache } from '@gatehouse/kit/outage-cache';
import type { Resource, TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';

/** What chat needs to know of a tenant. */
export interface TenantSettings {
  /** Null when the tenant may use the whole catalogue. */
  allowedModels: ReadonlySet<string> | null;
  /** Characters of prompt and answer that runs keep; 0 where previews are off. */
  previewChars: number;
  /** What of the tenant is limited, and of its keys that have limits of their own. */
  limited: readonly Resource[];
  limitedKeys: ReadonlyMap<string, readonly Resource[]>;
}

type Caller = Pick<CallContext, 'requestId' | 'trace'>;

/** Settings of tenants: a second old at most, and good for five minutes while the tenant service is away. */
export class TenantSettingsClient {
  readonly #peer: Peer<TenantServiceClient>;
  readonly #cache: OutageCache<TenantSettings>;

  constructor(peer: Peer<TenantServiceClient>) {
    this.#peer = peer;
    this.#cache = new OutageCache({
      max: 10_000,
      freshMs: 1_000,
      outageMs: 5 * 60_000,
      isOutage,
    });
  }

  /** `caller`: the request that asks, for its trace. */
  get(tenantId: string, caller: Caller = {}): Promise<TenantSettings> {
    return this.#cache.get(tenantId, () => this.#load(tenantId, caller));
  }

  /** As they are now, for requests where a second matters more than a call. */
  getNow(tenantId: string, caller: Caller = {}): Promise<TenantSettings> {
    return this.#cache.getNow(tenantId, () => this.#load(tenantId, caller));
  }

  async #load(tenantId: string, { requestId, trace }: Caller): Promise<TenantSettings> {
    const settings = await this.#peer
      .call('getTenantSettings', { tenantId }, { deadlineMs: 2_000, requestId, trace })
      .catch(hangIsOutage);
    return {
      allowedModels: settings.allowedModels === undefined ? null : new Set(settings.allowedModels.ids),
      previewChars: settings.previewsEnabled ? settings.previewMaxChars : 0,
      limited: settings.limited,
      limitedKeys: new Map(settings.limitedKeys.map((key) => [key.id, key.limited])),
    };
  }
}
