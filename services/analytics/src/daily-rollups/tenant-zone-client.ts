import type { RpcClient } from '@gatehouse/grpc/client';
import type { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { readTenantSettings } from '../shared/tenant-settings-client.ts';

/** The time zones of tenants. */
export class TenantZones {
  readonly #peer: RpcClient<TenantServiceClient>;

  constructor(peer: RpcClient<TenantServiceClient>) {
    this.#peer = peer;
  }

  /** UTC for a deleted tenant; null during an outage of the tenant service. Throws its other errors. */
  zoneOf(tenantId: string): Promise<string | null> {
    return readTenantSettings(this.#peer, tenantId, {
      // A tenant service of the previous release does not send the field.
      read: ({ timezone }) => (timezone === '' ? 'UTC' : timezone),
      whenDeleted: 'UTC',
    });
  }
}
