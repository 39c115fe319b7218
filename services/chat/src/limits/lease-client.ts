import { lookupDeadlineMs } from '@gatehouse/kit/bounds';
import type { RpcClient } from '@gatehouse/grpc/client';
import { hangIsOutage } from '@gatehouse/grpc/errors';
import type {
  Grant,
  LeaseRequest,
  SettleRequest,
  TenantServiceClient,
} from '@gatehouse/proto/tenant/v1/tenant';
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

  /** Returns the ids of settlements not charged. */
  async settle(request: Omit<SettleRequest, 'acceptsPartial'>): Promise<string[]> {
    const leaseRequest = { ...request, acceptsPartial: true };
    return (await this.#peer.call('settle', leaseRequest, { deadlineMs: settleDeadlineMs })).unchargedIds;
  }
}
