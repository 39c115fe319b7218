import type { RpcClient } from '@gatehouse/grpc/client';
import { hangIsOutage } from '@gatehouse/grpc/errors';
import { AppError } from '@gatehouse/kit/errors';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import type { TransferPartiesOptions } from './parties.ts';

const deadlineMs = 3_000;

/** The models of the catalogue that a tenant can't use, as chat knows them. */
export function unusableModelsAt(chat: RpcClient<ChatServiceClient>): TransferPartiesOptions['unusable'] {
  return async (tenantId, models) => {
    const request = { tenantId, ids: [...models] };
    const { unknownIds } = await chat
      .call('checkModels', request, { deadlineMs })
      .catch(refusalIsOutage)
      .catch(hangIsOutage);
    return unknownIds;
  };
}

/** A replica of chat of release 0.2 lets the agent service alone ask, until it is replaced. */
function refusalIsOutage(error: unknown): never {
  if (!(error instanceof AppError) || error.code !== 'caller_not_allowed') throw error;
  throw new AppError('service_unavailable', 'The chat service is being upgraded. Try again shortly.', {
    cause: error,
  });
}
