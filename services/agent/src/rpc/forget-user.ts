import type { Rpc } from '@gatehouse/grpc/server';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { ForgetUserRequest, ForgetUserResponse } from '@gatehouse/proto/agent/v1/agent';
import type { CookieStore } from '../store/cookie-store.ts';

const batch = 500;

/** Removes the cookies of a user. */
export function forgetUser(cookies: CookieStore): Rpc<ForgetUserRequest, ForgetUserResponse> {
  return {
    callers: ['tenant'],
    handle: async ({ tenantId, userId, requestedAtMs }) => {
      if (!isUuid(tenantId) || userId === '')
        throw new AppError('invalid_value', 'A deletion needs a tenant and a user.');
      const before = new Date(Number(requestedAtMs));
      const removed = await cookies.forget({ tenantId, userId, before }, batch);
      return { counts: { cookies: BigInt(removed) }, completed: removed < batch };
    },
  };
}
