import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { ForgetUserRequest, ForgetUserResponse } from '@gatehouse/proto/analytics/v1/analytics';
import type { ForgottenUsers } from './forgotten-users.ts';

/** Removes a user from stored runs, and from those that come later. */
export function forgetUser(forgotten: ForgottenUsers): Rpc<ForgetUserRequest, ForgetUserResponse> {
  return {
    callers: ['tenant'],
    handle: async ({ tenantId, userId, requestedAtMs }) => {
      if (!isUuid(tenantId) || userId === '')
        throw new AppError('invalid_value', 'A deletion needs a tenant and a user.');
      const deletion = { tenantId, userId, requestedAtMs: Number(requestedAtMs) };
      const { traces, completed } = await forgotten.forget(deletion);
      return { counts: { traces: BigInt(traces) }, completed };
    },
  };
}
