import { lookupDeadlineMs } from '@gatehouse/kit/bounds';
import type { RpcClient } from '@gatehouse/grpc/client';
import { hangIsOutage } from '@gatehouse/grpc/errors';
import type {
  Grant,
  LeaseRequest,
  Settlement,
  SettleRequest,
  TenantServiceClient,
} from '@gatehouse/proto/tenant/v1/tenant';
import { isCounterId } from '../policies/policy.ts';
import { settleDeadlineMs } from '../bounds.ts';

/** Leases of limits, and settlements of what was spent, at the tenant service. */
export class LeaseClient {
  readonly #peer: RpcClient<TenantServiceClient>;

  constructor(peer: RpcClient<TenantServiceClient>) {
    this.#peer = peer;
  }

  /** One grant for each ask, in their order. */
  async lease(request: LeaseRequest): Promise<Grant[]> {
    const { grants } = await this.#peer
      .call('lease', request, { deadlineMs: lookupDeadlineMs })
      .catch(hangIsOutage);
    return grants;
  }

  /**
   * Returns the ids of settlements not charged: also of those with charges of counters, by a tenant service of the previous
   * release.
   */
  async settle(request: Omit<SettleRequest, 'acceptsPartial' | 'counterSettlements'>): Promise<string[]> {
    const [counterSettlements, settlements] = [
      request.settlements.filter(chargesCounter),
      request.settlements.filter((settlement) => !chargesCounter(settlement)),
    ];
    const { unchargedIds, chargesCounters } = await this.#peer.call(
      'settle',
      { ...request, settlements, counterSettlements, acceptsPartial: true },
      { deadlineMs: settleDeadlineMs },
    );
    return chargesCounters ? unchargedIds : [...unchargedIds, ...counterSettlements.map(({ id }) => id)];
  }
}

function chargesCounter({ charges }: Settlement): boolean {
  return charges.some(({ subjectId }) => isCounterId(subjectId));
}
