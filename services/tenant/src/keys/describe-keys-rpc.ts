import { assertDescribable, maxDescribedIds } from '@gatehouse/grpc/described-ids';
import type { Rpc } from '@gatehouse/grpc/rpc';
import type { DescribeKeysRequest, DescribeKeysResponse } from '@gatehouse/proto/tenant/v1/tenant';
import type { ApiKeyStore } from './api-key-store.ts';

/** Returns names of a tenant's keys, without anything that a key may do. */
export function describeKeys(
  keys: Pick<ApiKeyStore, 'names' | 'named'>,
): Rpc<DescribeKeysRequest, DescribeKeysResponse> {
  return {
    callers: ['analytics'],
    handle: async (request) => {
      assertDescribable(request);
      const { tenantId, ids, namePrefix: prefix } = request;
      const named = prefix !== undefined && keys.named(tenantId, { prefix, limit: maxDescribedIds });
      return { keys: await (named || keys.names(tenantId, ids)) };
    },
  };
}
