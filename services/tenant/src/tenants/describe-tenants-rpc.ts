import { assertDescribable } from '@gatehouse/grpc/described-ids';
import type { Rpc } from '@gatehouse/grpc/rpc';
import type {
  DescribeTenantsRequest,
  DescribeTenantsResponse,
  TenantName,
} from '@gatehouse/proto/tenant/v1/tenant';

/** Returns slugs and names of tenants, without their settings. */
export function describeTenants(
  find: (ids: readonly string[]) => Promise<TenantName[]>,
): Rpc<DescribeTenantsRequest, DescribeTenantsResponse> {
  return {
    callers: ['analytics'],
    handle: async (request) => {
      assertDescribable(request);
      return { tenants: await find(request.ids) };
    },
  };
}
