import type { Fields } from '@gatehouse/kit/fields';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { KeyName, ProviderResources } from '../providers/resources.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-peer.ts';

/** The provider's files and batches of a tenant for work without a client. Throws where the provider or the key is gone. */
export async function resourcesFor(
  { providers, settings }: { providers: ProviderRegistry; settings: TenantSettingsClient },
  { key, tenantId }: { key: KeyName; tenantId: string },
): Promise<ProviderResources> {
  const ownKeys = key.ownKeyId === null ? [] : (await settings.getForTenant(tenantId)).ownKeys;
  const resources = providers.resourcesOf(key, { tenantId, ownKeys });
  if (resources === null) throw new Error('the provider or its key is gone');
  return resources;
}

export function batchPath(providerBatchId: string): string {
  return `/batches/${encodeURIComponent(providerBatchId)}`;
}

/** Cancels a batch at its provider, and returns how that describes it then. */
export function cancelBatch(
  resources: Pick<ProviderResources, 'json'>,
  providerBatchId: string,
  signal: AbortSignal,
): Promise<Fields> {
  return resources.json({ method: 'POST', path: `${batchPath(providerBatchId)}/cancel`, signal });
}
