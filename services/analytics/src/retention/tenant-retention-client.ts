import type { RpcClient } from '@gatehouse/grpc/client';
import type { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { readTenantSettings } from '../shared/tenant-settings-client.ts';
import { unknownTenantDays } from './trace-ages.ts';

/** How long tenants keep their traces. */
export class TenantRetention {
  readonly #peer: RpcClient<TenantServiceClient>;

  constructor(peer: RpcClient<TenantServiceClient>) {
    this.#peer = peer;
  }

  /**
   * The current retention in days; null during an outage of the tenant service. Throws its other errors. Never cached,
   * not even during an outage: an outdated answer could delete traces the tenant has just decided to keep.
   */
  daysOf(tenantId: string): Promise<number | null> {
    return readTenantSettings(this.#peer, tenantId, {
      // A tenant service of an earlier release does not send the field.
      read: ({ retentionDays }) => (retentionDays >= 1 ? retentionDays : null),
      whenDeleted: unknownTenantDays,
    });
  }
}
