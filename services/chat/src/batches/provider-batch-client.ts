import type { Fields } from '@gatehouse/kit/fields';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { KeyName, ProviderResources } from '../providers/resources.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import { anthropicBatches } from './anthropic-batch.ts';
import type { BatchApi, BatchApiName } from './batch-api.ts';
import { openaiBatches } from './openai-batch.ts';

/** The only place with knowledge of which APIs of batches there are. */
export const batchApis: Readonly<Record<BatchApiName, BatchApi>> = {
  openai: openaiBatches,
  anthropic: anthropicBatches,
};

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

interface BatchThere {
  api: BatchApiName;
  providerBatchId: string;
}

/** Asks a provider how it describes a batch. */
export function describedBatch(
  resources: Pick<ProviderResources, 'json'>,
  { api, providerBatchId }: BatchThere,
  signal: AbortSignal,
): Promise<Fields> {
  const { pathOf, isBatch: isAnswer } = batchApis[api];
  return resources.json({ method: 'GET', path: pathOf(providerBatchId), isAnswer, signal });
}

/** Cancels a batch at its provider, and returns the provider's description of it then. */
export function cancelBatch(
  resources: Pick<ProviderResources, 'json'>,
  { api, providerBatchId }: BatchThere,
  signal: AbortSignal,
): Promise<Fields> {
  const { pathOf, isBatch: isAnswer } = batchApis[api];
  return resources.json({ method: 'POST', path: `${pathOf(providerBatchId)}/cancel`, isAnswer, signal });
}
