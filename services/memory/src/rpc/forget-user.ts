import type { Rpc } from '@gatehouse/grpc/rpc';
import type { ForgetUserRequest, ForgetUserResponse } from '@gatehouse/proto/memory/v1/memory';
import type { ForgetStore } from '../store/forgetting/forget-store.ts';

/** Removes what a user left in all agents of a tenant. */
export function forgetUser(forgetting: ForgetStore): Rpc<ForgetUserRequest, ForgetUserResponse> {
  return {
    callers: ['tenant'],
    handle: async ({ tenantId, userId, requestedAtMs }) => {
      const requestedAt = new Date(Number(requestedAtMs));
      const { completed, ...removed } = await forgetting.forgetUser({ tenantId, userId, requestedAt });
      const counts = new Map(Object.entries(removed).map(([kind, count]) => [kind, BigInt(count)]));
      return { counts: Object.fromEntries(counts), completed };
    },
  };
}
