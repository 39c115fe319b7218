import { assertDescribable } from '@gatehouse/grpc/described-ids';
import type { Rpc } from '@gatehouse/grpc/rpc';
import type { DescribeTenantsRequest, DescribeTenantsResponse } from '@gatehouse/proto/tenant/v1/tenant';
import type { TenantSystemStore } from './tenant-system-store.ts';

/** Returns slugs and names of tenants, without their settings. */
export function describeTenants(
  tenants: Pick<TenantSystemStore, 'names' | 'named'>,
): Rpc<DescribeTenantsRequest, DescribeTenantsResponse> {
  return {
    callers: ['analytics'],
    handle: async (request) => {
      assertDescribable(request);
      const { ids, slug } = request;
      return { tenants: await (slug === undefined ? tenants.names(ids) : tenants.named(slug)) };
    },
  };
}
