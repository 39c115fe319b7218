import type { Rpc } from '@gatehouse/grpc/server';
import { AppError } from '@gatehouse/kit/errors';
import type { RunStepRequest, RunStepResponse } from '@gatehouse/proto/transfer/v1/transfer';

const own = new Set(['webhook_endpoint', 'channel_instance']);

/** Channels and endpoints can be previewed, and not transferred yet. */
export const refuseSteps: Rpc<RunStepRequest, RunStepResponse> = {
  callers: ['tenant'],
  handle: ({ transfer, step }) => {
    const isOwn = transfer?.items.some(({ ref }) => own.has(ref?.type ?? '')) === true;
    if (isOwn && step !== 'abort')
      throw new AppError('invalid_value', "Channels and webhook endpoints can't be transferred yet.");
    return Promise.resolve({ completed: true });
  },
};
