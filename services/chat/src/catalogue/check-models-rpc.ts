import { tenantOf, type Rpc } from '@gatehouse/grpc/rpc';
import type { CheckModelsRequest, CheckModelsResponse } from '@gatehouse/proto/chat/v1/chat';
import type { Catalogue } from './catalogue.ts';
import { nearestModels } from './nearest-models.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';

/** `CheckModels`: which of the models a tenant can't use. */
export function checkModels(
  catalogue: Catalogue,
  settings: TenantSettingsClient,
): Rpc<CheckModelsRequest, CheckModelsResponse> {
  return {
    callers: ['agent', 'tenant'],
    async handle({ ids, tenantId = null }, context) {
      const { requestId, trace } = context;
      const checkedTenant = tenantId ?? tenantOf(context).tenantId;
      const { allowedModels } = await settings.getNow(checkedTenant, { requestId, trace });
      const unknownIds = ids.filter((id) => catalogue.entryOf(id, allowedModels) === undefined);
      const [first] = unknownIds;
      return {
        unknownIds,
        nearest: first === undefined ? [] : nearestModels(catalogue, first, allowedModels),
      };
    },
  };
}
