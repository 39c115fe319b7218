import type { Peer } from '@gatehouse/grpc/client';
import { hangIsOutage } from '@gatehouse/grpc/errors';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import type { TransferPartiesOptions } from './parties.ts';

const deadlineMs = 3_000;

/** The models of the catalogue that a tenant can't use, as chat knows them. */
export function unusableModelsAt(chat: Peer<ChatServiceClient>): TransferPartiesOptions['unusable'] {
  return async (tenantId, models) => {
    const request = { tenantId, ids: [...models] };
    const { unknownIds } = await chat.call('checkModels', request, { deadlineMs }).catch(hangIsOutage);
    return unknownIds;
  };
}
