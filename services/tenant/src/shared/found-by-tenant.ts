import { Batched } from '@gatehouse/kit/batched';

/** Finds what is enabled for a tenant, for several tenants at once. */
export function foundByTenant<Item extends { tenantId: string }>(store: {
  findEnabled: (tenantIds: readonly string[]) => Promise<Item[]>;
}): Batched<string, Item[]> {
  return new Batched(async (tenantIds) => {
    const byTenant = Map.groupBy(
      await store.findEnabled([...new Set(tenantIds)]),
      ({ tenantId }) => tenantId,
    );
    return tenantIds.map((id) => byTenant.get(id) ?? []);
  });
}
