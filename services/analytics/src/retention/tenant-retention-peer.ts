import { isOutage } from '@gatehouse/grpc/errors';
import type { Peer } from '@gatehouse/grpc/client';
import { AppError } from '@gatehouse/kit/errors';
import type { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { unknownTenantDays } from './trace-ages.ts';

/** How long tenants keep their traces. */
export class TenantRetention {
  readonly #peer: Peer<TenantServiceClient>;

  constructor(peer: Peer<TenantServiceClient>) {
    this.#peer = peer;
  }

  /**
   * The current retention in days; null during an outage of the tenant service. Throws its other errors. Never cached,
   * not even during an outage: an outdated answer could delete traces that the tenant has just decided to keep.
   */
  async daysOf(tenantId: string): Promise<number | null> {
    try {
      const request = { tenantId, omitLimitedKeys: true };
      const settings = await this.#peer.call('getTenantSettings', request, { deadlineMs: 2_000 });
      // A tenant service of an earlier release does not send the field.
      return settings.retentionDays >= 1 ? settings.retentionDays : null;
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return unknownTenantDays;
      if (isOutage(error)) return null;
      throw error;
    }
  }
}
