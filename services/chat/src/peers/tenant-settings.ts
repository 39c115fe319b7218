import { hangIsOutage, isOutage } from '@gatehouse/grpc/errors';
import type { CallContext, Peer } from '@gatehouse/grpc/client';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { tenantNotActive } from '@gatehouse/kit/errors';
import { OutageCache } from '@gatehouse/kit/outage-cache';
import type {
  GetTenantSettingsResponse,
  Resource,
  TenantServiceClient,
} from '@gatehouse/proto/tenant/v1/tenant';

/** The settings of a tenant that chat uses. */
export interface TenantSettings {
  /** Null when the tenant may use the whole catalogue. */
  allowedModels: ReadonlySet<string> | null;
  /** Characters of prompt and answer that runs keep; 0 where previews are off. */
  previewChars: number;
  /** The limited resources of the tenant. */
  limited: readonly Resource[];
}

/** The same for a request with one of the tenant's keys. */
export interface KeySettings extends TenantSettings {
  /** The limited resources of the key. */
  keyLimited: readonly Resource[];
}

interface Known {
  settings: TenantSettings;
  status: string;
  /** Limits by key: none, all of them (from a tenant service of the release before), or to be asked for. */
  keyLimits: ReadonlyMap<string, readonly Resource[]> | 'ask';
}

type Caller = Pick<CallContext, 'requestId' | 'trace'>;

const deadlineMs = 2_000;
/** How long settings and limits of keys are valid during an outage of the tenant service. */
const outageMs = 5 * 60_000;

/**
 * Settings of tenants: a second old at most, or five minutes during an outage of the tenant service. Each method
 * throws 403 `tenant_suspended` for a tenant that is not active, even if the edge's cache has it as active.
 */
export class TenantSettingsClient {
  readonly #peer: Peer<TenantServiceClient>;
  readonly #tenants = new OutageCache<Known>({
    max: 10_000,
    size: { maxBytes: 64 * 1024 * 1024, of: sizeOf },
    freshMs: 1_000,
    outageMs,
    isOutage,
  });
  /** Limits of a key don't change: five seconds bound what asking for them costs, not how old they may be. */
  readonly #keys = new OutageCache<readonly Resource[]>({ max: 50_000, freshMs: 5_000, outageMs, isOutage });

  constructor(peer: Peer<TenantServiceClient>) {
    this.#peer = peer;
  }

  /** `caller`: the request that asks, for its trace. */
  async getForKey(key: { tenantId: string; keyId: string }, caller: Caller = {}): Promise<KeySettings> {
    const { tenantId, keyId } = key;
    const known =
      this.#tenants.peek(tenantId) ??
      (await this.#tenants.get(tenantId, () => this.#loadTenant(tenantId, caller)));
    const settings = activeSettings(known);
    if (known.keyLimits !== 'ask') return { ...settings, keyLimited: known.keyLimits.get(keyId) ?? [] };
    const keyLimited = await this.#keys.get(cacheKey(tenantId, keyId), () => this.#loadKey(key, caller));
    return { ...settings, keyLimited };
  }

  /** The current settings, for requests in which their age matters more than a call. */
  async getNow(tenantId: string, caller: Caller = {}): Promise<TenantSettings> {
    return activeSettings(await this.#tenants.getNow(tenantId, () => this.#loadTenant(tenantId, caller)));
  }

  async #loadTenant(tenantId: string, { requestId, trace }: Caller): Promise<Known> {
    const response = await this.#peer
      .call('getTenantSettings', { tenantId, omitLimitedKeys: true }, { deadlineMs, requestId, trace })
      .catch(hangIsOutage);
    return {
      settings: {
        allowedModels: response.allowedModels === undefined ? null : new Set(response.allowedModels.ids),
        previewChars: response.previewsEnabled ? response.previewMaxChars : 0,
        limited: response.limited,
      },
      // The release before does not send it: the edge alone enforces suspension then.
      status: response.status ?? 'active',
      keyLimits: keyLimitsOf(response),
    };
  }

  async #loadKey(
    { tenantId, keyId }: { tenantId: string; keyId: string },
    { requestId, trace }: Caller,
  ): Promise<readonly Resource[]> {
    const { limitedKeys } = await this.#peer
      .call('getTenantSettings', { tenantId, apiKeyId: keyId }, { deadlineMs, requestId, trace })
      .catch(hangIsOutage);
    // A replica of the release before sends other keys, too.
    return limitedKeys.find((key) => key.id === keyId)?.limited ?? [];
  }
}

function keyLimitsOf({ someKeyLimited, limitedKeys }: GetTenantSettingsResponse): Known['keyLimits'] {
  return someKeyLimited === true ? 'ask' : new Map(limitedKeys.map((key) => [key.id, key.limited]));
}

/** Throws 403 for a tenant that is not active. */
function activeSettings({ settings, status }: Known): TenantSettings {
  if (status === 'active') return settings;
  throw tenantNotActive(status);
}

/** Bytes in memory: a tenant may be allowed 1,000 models with ids of 256 characters. */
function sizeOf({ settings, keyLimits }: Known): number {
  const models = [...(settings.allowedModels ?? [])].reduce((sum, id) => sum + 2 * id.length + 50, 0);
  return models + (keyLimits === 'ask' ? 0 : 100 * keyLimits.size);
}
