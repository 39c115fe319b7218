import { isOutage } from '@gatehouse/grpc/errors';
import type { Peer } from '@gatehouse/grpc/client';
import { AppError } from '@gatehouse/kit/errors';
import type { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';

/** The time zones of tenants. */
export class TenantZones {
  readonly #peer: Peer<TenantServiceClient>;

  constructor(peer: Peer<TenantServiceClient>) {
    this.#peer = peer;
  }

  /** UTC for a deleted tenant; null during an outage of the tenant service. Throws its other errors. */
  async zoneOf(tenantId: string): Promise<string | null> {
    try {
      const request = { tenantId, omitLimitedKeys: true };
      const { timezone } = await this.#peer.call('getTenantSettings', request, { deadlineMs: 2_000 });
      // A tenant service of the previous release does not send the field.
      return timezone === '' ? 'UTC' : timezone;
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return 'UTC';
      if (isOutage(error)) return null;
      throw error;
    }
  }
}
