import type { RpcClient } from '@gatehouse/grpc/client';
import { isOutage } from '@gatehouse/grpc/errors';
import { lookupDeadlineMs } from '@gatehouse/kit/bounds';
import { AppError } from '@gatehouse/kit/errors';
import type { GetTenantSettingsResponse, TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';

/** Retention for traces of a deleted tenant, after the end of its own setting. */
const unknownTenantDays = 90;

/** Settings of tenants, read when they are used. Null during an outage of the tenant service; throws its other errors. */
export class TenantSettingsClient {
  readonly #peer: RpcClient<TenantServiceClient>;

  constructor(peer: RpcClient<TenantServiceClient>) {
    this.#peer = peer;
  }

  /** The time zone; UTC for a deleted tenant. */
  zoneOf(tenantId: string): Promise<string | null> {
    // A tenant service of the previous release does not send the field.
    return this.#read(tenantId, ({ timezone }) => (timezone === '' ? 'UTC' : timezone), 'UTC');
  }

  /**
   * The retention in days. Never cached, not even during an outage: an outdated answer could delete traces the tenant has
   * just decided to keep.
   */
  daysOf(tenantId: string): Promise<number | null> {
    // A tenant service of an earlier release does not send the field.
    const read = ({ retentionDays }: GetTenantSettingsResponse): number | null =>
      retentionDays >= 1 ? retentionDays : null;
    return this.#read(tenantId, read, unknownTenantDays);
  }

  async #read<Value>(
    tenantId: string,
    read: (settings: GetTenantSettingsResponse) => Value,
    whenDeleted: Value,
  ): Promise<Value | null> {
    try {
      const request = { tenantId, omitLimitedKeys: true };
      return read(await this.#peer.call('getTenantSettings', request, { deadlineMs: lookupDeadlineMs }));
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return whenDeleted;
      if (isOutage(error)) return null;
      throw error;
    }
  }
}
