import { assertDescribable } from '@gatehouse/grpc/described-ids';
import type { Rpc } from '@gatehouse/grpc/rpc';
import type { DescribeKeysRequest, DescribeKeysResponse } from '@gatehouse/proto/tenant/v1/tenant';
import type { ApiKeyStore } from './api-key-store.ts';

/** Returns names of a tenant's keys, without anything that a key may do. */
export function describeKeys(
  keys: Pick<ApiKeyStore, 'names'>,
): Rpc<DescribeKeysRequest, DescribeKeysResponse> {
  return {
    callers: ['analytics'],
    handle: async (request) => {
      assertDescribable(request);
      return { keys: await keys.names(request.tenantId, request.ids) };
    },
  };
}
