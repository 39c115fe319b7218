import { isOutage } from '@gatehouse/grpc/errors';
import type { Peer } from '@gatehouse/grpc/client';
import { AppError } from '@gatehouse/kit/errors';
import type { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { unknownTenantDays } from '../retention/trace-ages.ts';

/** How long tenants keep their traces. */
export class TenantRetention {
  readonly #peer: Peer<TenantServiceClient>;

  constructor(peer: Peer<TenantServiceClient>) {
    this.#peer = peer;
  }

  /**
   * Days, as they are set now; null while the tenant service is away. Throws what it refuses with. Asked once a day and
   * never answered from a cache, not even in an outage: what a tenant has just decided to keep must not be deleted on an
   * old answer.
   */
  async daysOf(tenantId: string): Promise<number | null> {
    try {
      const request = { tenantId, omitLimitedKeys: true };
      const settings = await this.#peer.call('getTenantSettings', request, { deadlineMs: 2_000 });
      // A tenant service of an earlier release does not send it.
      return settings.retentionDays >= 1 ? settings.retentionDays : null;
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return unknownTenantDays;
      if (isOutage(error)) return null;
      throw error;
    }
  }
}
