import { hourMs, lookupDeadlineMs } from '@gatehouse/kit/bounds';
import type { ChangeWatch } from '@gatehouse/kit/change-watch';
import { AppError } from '@gatehouse/kit/errors';
import { OutageCache } from '@gatehouse/kit/outage-cache';
import type { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { RpcClient } from '@gatehouse/grpc/client';
import { isOutage } from '@gatehouse/grpc/errors';

/** Retention of what a deleted tenant has left. */
const unknownTenantDays = 90;

/**
 * The current retention of tenants. Every replica reads it for all its tenants every ten minutes: an answer is used again
 * only while the watch knows it to be current.
 */
export class TenantRetention {
  readonly #peer: Pick<RpcClient<TenantServiceClient>, 'call'>;
  readonly #days: OutageCache<number | null>;

  constructor(peer: Pick<RpcClient<TenantServiceClient>, 'call'>, changes: ChangeWatch) {
    this.#peer = peer;
    this.#days = new OutageCache<number | null>({
      ...{ max: 50_000, freshMs: 0, outageMs: 0, isOutage },
      watch: { changes, longestMs: hourMs, subjectsOf: (_days, tenantId) => [tenantId] },
    });
  }

  /**
   * In days, also of a suspended tenant; 90 of a deleted one, as analytics has it for traces; null if the tenant service
   * does not say it. Throws `service_unavailable` while that is down.
   */
  daysOf(tenantId: string): Promise<number | null> {
    return this.#days.get(tenantId, () => this.#load(tenantId));
  }

  async #load(tenantId: string): Promise<number | null> {
    try {
      const request = { tenantId, omitLimitedKeys: true };
      const context = { deadlineMs: lookupDeadlineMs };
      const { retentionDays } = await this.#peer.call('getTenantSettings', request, context);
      return retentionDays >= 1 ? retentionDays : null;
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return unknownTenantDays;
      throw error;
    }
  }
}
