import { hangIsOutage, isOutage } from '@gatehouse/grpc/errors';
import type { Peer } from '@gatehouse/grpc/client';
import { OutageCache } from '@gatehouse/kit/outage-cache';
import type { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';

/** What chat needs to know of a tenant. */
export interface TenantSettings {
  /** Null when the tenant may use the whole catalogue. */
  allowedModels: ReadonlySet<string> | null;
  /** Characters of prompt and answer that runs keep; 0 where previews are off. */
  previewChars: number;
}

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

  get(tenantId: string): Promise<TenantSettings> {
    return this.#cache.get(tenantId, () => this.#load(tenantId));
  }

  /** As they are now, for requests where a second matters more than a call. */
  getNow(tenantId: string): Promise<TenantSettings> {
    return this.#cache.getNow(tenantId, () => this.#load(tenantId));
  }

  async #load(tenantId: string): Promise<TenantSettings> {
    const settings = await this.#peer
      .call('getTenantSettings', { tenantId }, { deadlineMs: 2_000 })
      .catch(hangIsOutage);
    return {
      allowedModels: settings.allowedModels === undefined ? null : new Set(settings.allowedModels.ids),
      previewChars: settings.previewsEnabled ? settings.previewMaxChars : 0,
    };
  }
}
