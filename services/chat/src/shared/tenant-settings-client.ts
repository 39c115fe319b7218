import { lookupDeadlineMs } from '@gatehouse/kit/bounds';
import type { ActingUsers } from '@gatehouse/contract/tenants';
import { AllowedModels } from '@gatehouse/contract/allowed-models';
import {
  ActiveTenants,
  settingsOutageMs,
  type SentSettings,
  type SettingsCaller,
  type SettingsContext,
} from '@gatehouse/grpc/active-tenants';
import { hangIsOutage, isOutage } from '@gatehouse/grpc/errors';
import type { RpcClient } from '@gatehouse/grpc/client';
import { cacheKey } from '@gatehouse/kit/cache-key';
import type { ChangeWatch } from '@gatehouse/kit/change-watch';
import { OutageCache } from '@gatehouse/kit/outage-cache';
import { CounterIds, PolicyIndex } from '@gatehouse/kit/policy-matching';
import { GuardrailIndex } from '../policies/guardrail.ts';
import { policyOf } from '../policies/policy.ts';
import type { KeySettings, TenantProviderKey, TenantSettings } from './tenant-settings.ts';
import type { Policy, Resource, TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { openCounterKey } from '@gatehouse/secrets/counter-key';
import type { KeyRing } from '@gatehouse/secrets/key-ring';

interface Known {
  /** The settings without the limits of a key. */
  settings: KeySettings;
  /** Whether some key of the tenant has limits of its own. */
  hasKeyLimits: boolean;
}

/** Settings of tenants and limits of their keys, with the rules of {@link ActiveTenants}. */
export class TenantSettingsClient {
  readonly #peer: Pick<RpcClient<TenantServiceClient>, 'call'>;
  readonly #keyRing: KeyRing;
  readonly #tenants: ActiveTenants<Known>;
  readonly #counterIds = new CounterIds();
  /** Limits of a key never change. */
  readonly #keys = new OutageCache<readonly Resource[]>({
    max: 50_000,
    freshMs: 5 * 60_000,
    outageMs: settingsOutageMs,
    isOutage,
  });

  /** `keyRing` opens the keys of policies' counters. */
  constructor(
    peer: Pick<RpcClient<TenantServiceClient>, 'call'>,
    { changes, keyRing }: { changes: ChangeWatch; keyRing: KeyRing },
  ) {
    this.#peer = peer;
    this.#keyRing = keyRing;
    this.#tenants = new ActiveTenants({
      changes,
      load: (tenantId, context) => this.#loadTenant(tenantId, context),
      size: { maxBytes: 64 * 1024 * 1024, bytesOf: sizeOf },
    });
  }

  /** For work not begun by a key. */
  async getForTenant(tenantId: string, caller: SettingsCaller = {}): Promise<KeySettings> {
    return (await this.#tenants.get(tenantId, caller)).settings;
  }

  /** The same at once, if fresh settings are known and no key of the tenant has limits. Throws as `getForKey` does. */
  peekForKey({ tenantId }: { tenantId: string }): KeySettings | undefined {
    const known = this.#tenants.peek(tenantId);
    return known?.hasKeyLimits === false ? known.settings : undefined;
  }

  /** `caller`: the asking request, for its trace. */
  async getForKey(
    key: { tenantId: string; keyId: string },
    caller: SettingsCaller = {},
  ): Promise<KeySettings> {
    const { tenantId, keyId } = key;
    const { settings, hasKeyLimits } =
      this.#tenants.peek(tenantId) ?? (await this.#tenants.get(tenantId, caller));
    if (!hasKeyLimits) return settings;
    const keyLimited = await this.#keys.get(cacheKey(tenantId, keyId), () => this.#loadKey(key, caller));
    return { ...settings, keyLimited };
  }

  /** The current settings, for requests in which their age matters more than a call. */
  async getNow(tenantId: string, caller: SettingsCaller = {}): Promise<TenantSettings> {
    return (await this.#tenants.getNow(tenantId, caller)).settings;
  }

  async #loadTenant(tenantId: string, context: SettingsContext): Promise<SentSettings<Known>> {
    const request = {
      ...{ tenantId, omitLimitedKeys: true },
      ...{ withProviderKeys: true, withPolicies: true, withGuardrails: true },
    };
    const response = await this.#peer.call('getTenantSettings', request, context);
    const { allowedModels, previewsEnabled, previewMaxChars, contentFull, retentionDays, limited, status } =
      response;
    const settings = {
      allowedModels: allowedModels === undefined ? null : new AllowedModels(allowedModels.ids),
      previewChars: previewsEnabled ? previewMaxChars : 0,
      storesContent: contentFull,
      retentionDays,
      limited,
      keyLimited: [],
      unleasedRequests: response.unleasedRequests,
      ownKeys: response.providerKeys.map(({ userId, models, ...key }) => ({
        ...{ ...key, userId: userId ?? null },
        models: models.length === 0 ? null : new AllowedModels(models),
      })),
      policies: this.#policiesOf(tenantId, response.policies),
      guardrails: response.guardrails.length === 0 ? null : new GuardrailIndex(response.guardrails),
      hasSessionBudgets: response.hasSessionBudgets,
      hasUsers: response.hasUsers,
      actingUsers: actingUsersOf(response.actingUsers),
    };
    return {
      settings: { settings, hasKeyLimits: response.someKeyLimited === true },
      ...{ status, isPartial: response.actingUsers === '' },
    };
  }

  #policiesOf(tenantId: string, policies: readonly Policy[]): TenantSettings['policies'] {
    if (policies.length === 0) return null;
    return new PolicyIndex(
      policies.map((policy) =>
        policyOf(policy, openCounterKey(this.#keyRing, { tenantId, policyId: policy.id }, policy.counterKey)),
      ),
      this.#counterIds,
    );
  }

  async #loadKey(
    { tenantId, keyId }: { tenantId: string; keyId: string },
    caller: SettingsCaller,
  ): Promise<readonly Resource[]> {
    const { requestId, trace } = caller;
    const context = { deadlineMs: lookupDeadlineMs, requestId, trace };
    const { limitedKeys } = await this.#peer
      .call('getTenantSettings', { tenantId, apiKeyId: keyId }, context)
      .catch(hangIsOutage);
    return limitedKeys[0]?.limited ?? [];
  }
}

/** A value of a later release is stricter than `any`: runs need a user then. */
function actingUsersOf(text: string): ActingUsers {
  if (text === '' || text === 'any') return 'any';
  return text === 'known' ? 'known' : 'required';
}

/**
 * Bytes in memory: a tenant may be allowed 1,000 models with ids of 256 characters, and has 100 keys, 40 policies and 40
 * guardrails at most.
 */
function sizeOf({ settings }: Known): number {
  const models = (settings.allowedModels?.entries ?? []).reduce((sum, id) => sum + 2 * id.length + 50, 0);
  const keys = settings.ownKeys.reduce((sum, key) => sum + keyBytes(key), 0);
  return models + keys + (settings.policies?.bytes ?? 0) + (settings.guardrails?.bytes ?? 0);
}

function keyBytes({ sealed, models }: TenantProviderKey): number {
  const entries = models?.entries ?? [];
  return entries.reduce((sum, id) => sum + 4 * id.length + 100, sealed.length + 1_000);
}
