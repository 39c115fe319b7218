import type { ProviderKeyUse } from '@gatehouse/proto/tenant/v1/tenant';
import type { TenantRpcs } from '@gatehouse/test/tenant-rpcs';

/** Uses of tenants' own keys that a tenant service received. */
export class KeyUses {
  readonly uses: ProviderKeyUse[] = [];
  readonly rpc: TenantRpcs['noteProviderKeys'] = {
    callers: ['chat'],
    handle: ({ uses }) => {
      this.uses.push(...uses);
      return Promise.resolve({});
    },
  };
}
