import type { Rpc } from '@gatehouse/grpc/rpc';
import { isTenantPrincipal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import type { CheckModelsRequest, CheckModelsResponse } from '@gatehouse/proto/chat/v1/chat';
import type { Catalogue } from './catalogue.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-peer.ts';

/** `CheckModels`: which of the models the principal's tenant can't use. */
export function checkModels(
  catalogue: Catalogue,
  settings: TenantSettingsClient,
): Rpc<CheckModelsRequest, CheckModelsResponse> {
  return {
    callers: ['agent'],
    async handle(request, { principal, requestId, trace }) {
      if (principal === null || !isTenantPrincipal(principal)) {
        throw new AppError('service_unauthenticated', 'The call names no tenant.');
      }
      const { allowedModels } = await settings.getNow(principal.tenantId, { requestId, trace });
      return { unknownIds: request.ids.filter((id) => catalogue.find(id, allowedModels) === undefined) };
    },
  };
}
