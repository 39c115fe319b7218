import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { GetTenantSettingsRequest, GetTenantSettingsResponse } from '@gatehouse/proto/tenant/v1/tenant';
import { maxLimitedKeys } from '../bounds.ts';
import { limitOf, unleasedRequests } from '../limits/leases.ts';
import { memoryLimitsOf } from '../limits/stored-limits.ts';
import { showEnabledGuardrail, type EnabledGuardrail } from '../guardrails/enabled-guardrail.ts';
import { showEnabledPolicy, type EnabledPolicy } from '../policies/enabled-policy.ts';
import type { UsableProviderKey } from '../provider-keys/provider-key-system-store.ts';
import { limitedOf } from '../limits/wire-resources.ts';
import type { StoredSettings, LimitedKey } from './settings-system-store.ts';

/** The own keys of a tenant, newest first. */
export type FindProviderKeys = (tenantId: string) => Promise<readonly UsableProviderKey[]>;

/** The enabled policies for a tenant. */
export type FindPolicies = (tenantId: string) => Promise<readonly EnabledPolicy[]>;

/** The enabled guardrails for a tenant. */
export type FindGuardrails = (tenantId: string) => Promise<readonly EnabledGuardrail[]>;

export interface SettingsDependencies {
  find: (tenantId: string) => Promise<StoredSettings | null>;
  findLimitedKeys: (tenantId: string, keys: { id: string | null; max: number }) => Promise<LimitedKey[]>;
  findProviderKeys: FindProviderKeys;
  findPolicies: FindPolicies;
  findGuardrails: FindGuardrails;
}

/** Returns a tenant's settings for other services. */
export function getTenantSettings({
  find,
  findLimitedKeys,
  findProviderKeys,
  findPolicies,
  findGuardrails,
}: SettingsDependencies): Rpc<GetTenantSettingsRequest, GetTenantSettingsResponse> {
  return {
    callers: ['chat', 'analytics', 'memory', 'webhook'],
    handle: async (request, { caller }) => {
      const { tenantId, omitLimitedKeys, apiKeyId } = request;
      if (apiKeyId !== undefined && !isUuid(apiKeyId))
        throw new AppError('invalid_value', 'Invalid value for api_key_id: must be a UUID.');
      const keys = { id: apiKeyId ?? null, max: omitLimitedKeys === true ? 0 : maxLimitedKeys };
      const stored = isUuid(tenantId) ? await find(tenantId.toLowerCase()) : null;
      if (stored === null) throw new AppError('not_found', 'There is no such tenant.');
      const {
        allowedModels,
        previews,
        contentFull,
        retentionDays,
        limits,
        memoryLimits,
        budget,
        status,
        timezone,
      } = stored;
      const limitedKeys = stored.someKeyLimited && keys.max > 0 ? await findLimitedKeys(stored.id, keys) : [];
      const forChat = (wanted: boolean | undefined, has: boolean): boolean =>
        wanted === true && caller === 'chat' && has;
      const providerKeys = forChat(request.withProviderKeys, stored.hasProviderKeys)
        ? await findProviderKeys(stored.id)
        : [];
      const policies = forChat(request.withPolicies, stored.hasPolicies) ? await findPolicies(stored.id) : [];
      const guardrails = forChat(request.withGuardrails, stored.hasGuardrails)
        ? await findGuardrails(stored.id)
        : [];
      const memory = memoryLimitsOf(memoryLimits);
      return {
        allowedModels: allowedModels === null ? undefined : { ids: [...allowedModels] },
        previewsEnabled: previews.enabled,
        previewMaxChars: previews.max_chars,
        contentFull: previews.enabled && contentFull,
        retentionDays,
        limited: limitedOf(limits, budget),
        limitedKeys: limitedKeys.map((key) => ({
          id: key.id,
          limited: limitedOf(key.limits, key.budget),
        })),
        someKeyLimited: stored.someKeyLimited,
        status,
        timezone,
        hasUsers: stored.hasUsers,
        hasSessionBudgets: stored.hasSessionBudgets,
        actingUsers: stored.actingUsers,
        unleasedRequests: unleasedRequests(limitOf({ limits, budget }, 'concurrency')),
        memoryLimits: {
          documents: BigInt(memory.documents),
          bytes: BigInt(memory.bytes),
          entities: BigInt(memory.entities),
        },
        providerKeys: providerKeys.map(({ id, provider, sealed, models, userId }) => ({
          ...{ id, provider, sealed, models: [...(models ?? [])], userId: userId ?? undefined },
        })),
        policies: policies.map(showEnabledPolicy),
        guardrails: guardrails.map(showEnabledGuardrail),
      };
    },
  };
}
