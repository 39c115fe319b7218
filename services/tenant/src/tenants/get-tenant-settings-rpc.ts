import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { GetTenantSettingsRequest, GetTenantSettingsResponse } from '@gatehouse/proto/tenant/v1/tenant';
import { memoryLimitsOf } from '../limits/memory-limits.ts';
import type { UsableProviderKey } from '../provider-keys/provider-key-store.ts';
import type { TenantStore } from './tenant-store.ts';
import { limitedOf } from '../limits/wire-resources.ts';

/** An answer of this size has about 0.5 MB and takes 65 ms to read. */
const maxLimitedKeys = 10_000;

/** The own keys of a tenant, newest first. */
export type FindProviderKeys = (tenantId: string) => Promise<UsableProviderKey[]>;

/** Returns the settings of a tenant that other services need. */
export function getTenantSettings(
  tenants: TenantStore,
  findProviderKeys: FindProviderKeys,
): Rpc<GetTenantSettingsRequest, GetTenantSettingsResponse> {
  return {
    callers: ['chat', 'analytics', 'memory', 'webhook'],
    handle: async ({ tenantId, omitLimitedKeys, apiKeyId, withProviderKeys }, { caller }) => {
      if (apiKeyId !== undefined && !isUuid(apiKeyId))
        throw new AppError('invalid_value', 'Invalid value for api_key_id: must be a UUID.');
      const keys = { id: apiKeyId ?? null, max: omitLimitedKeys === true ? 0 : maxLimitedKeys };
      const found = isUuid(tenantId) ? await tenants.find(tenantId, keys) : null;
      if (found === null) throw new AppError('not_found', 'There is no such tenant.');
      const { allowedModels, previews, retentionDays, limits, memoryLimits, budget, status, timezone } =
        found.tenant;
      const ownKeys = withProviderKeys === true && caller === 'chat' && found.hasProviderKeys;
      const providerKeys = ownKeys ? await findProviderKeys(tenantId) : [];
      const memory = memoryLimitsOf(memoryLimits);
      return {
        allowedModels: allowedModels === null ? undefined : { ids: [...allowedModels] },
        previewsEnabled: previews.enabled,
        previewMaxChars: previews.max_chars,
        retentionDays,
        limited: limitedOf(limits, budget),
        limitedKeys: found.limitedKeys.map((key) => ({
          id: key.id,
          limited: limitedOf(key.limits, key.budget),
        })),
        someKeyLimited: found.someKeyLimited,
        status,
        timezone,
        memoryLimits: {
          documents: BigInt(memory.documents),
          bytes: BigInt(memory.bytes),
          entities: BigInt(memory.entities),
        },
        providerKeys: providerKeys.map(({ models, userId, ...key }) => ({
          ...{ ...key, models: [...(models ?? [])], userId: userId ?? undefined },
        })),
      };
    },
  };
}
