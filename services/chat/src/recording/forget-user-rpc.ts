import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { ForgetUserRequest, ForgetUserResponse } from '@gatehouse/proto/chat/v1/chat';
import type { ForgottenUsers } from './forgotten-users-job.ts';

/** `ForgetUser`: removes what chat holds of a user. */
export function forgetUser(forgotten: ForgottenUsers): Rpc<ForgetUserRequest, ForgetUserResponse> {
  return {
    callers: ['tenant'],
    async handle({ tenantId, userId, requestedAtMs }) {
      if (!isUuid(tenantId) || userId === '')
        throw new AppError('invalid_value', 'A deletion needs a tenant and a user.');
      const { completed, completions, runs } = await forgotten.forget({
        tenantId,
        userId,
        requestedAtMs: Number(requestedAtMs),
      });
      return { counts: { completions: BigInt(completions), runs: BigInt(runs) }, completed };
    },
  };
}
