import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { ForgetUserRequest, ForgetUserResponse } from '@gatehouse/proto/agent/v1/agent';
import type { CookieStore } from '../cookies/cookie-store.ts';
import type { LoginStore } from '../logins/login-store.ts';

const batch = 500;

/** Removes the cookies of a user, and the user's logins at MCP servers. */
export function forgetUser(
  cookies: CookieStore,
  logins: LoginStore,
): Rpc<ForgetUserRequest, ForgetUserResponse> {
  return {
    callers: ['tenant'],
    handle: async ({ tenantId, userId, requestedAtMs }) => {
      if (!isUuid(tenantId) || userId === '')
        throw new AppError('invalid_value', 'A deletion needs a tenant and a user.');
      const before = new Date(Number(requestedAtMs));
      const removed = {
        cookies: await cookies.forget({ tenantId, userId, before }, batch),
        mcp_logins: await logins.forget({ tenantId, userId, before }, batch),
      };
      return {
        counts: { cookies: BigInt(removed.cookies), mcp_logins: BigInt(removed.mcp_logins) },
        completed: Math.max(...Object.values(removed)) < batch,
      };
    },
  };
}
