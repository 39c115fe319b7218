import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { SettleRequest, SettleResponse, Settlement } from '@gatehouse/proto/tenant/v1/tenant';
import type { LeaseSystemStore } from './lease-system-store.ts';
import type { LimitSystemStore } from './limit-system-store.ts';

/** Charges the cost of runs, and releases what dead replicas held. */
export function settle(
  leases: LeaseSystemStore,
  holders: LimitSystemStore,
): Rpc<SettleRequest, SettleResponse> {
  return {
    callers: ['chat'],
    handle: async (request, { log }) => {
      const { holderId, releasedHolderIds, liveHolderIds, acceptsPartial } = request;
      const settlements = [...request.settlements, ...request.counterSettlements];
      assertValid(request, settlements);
      if (liveHolderIds.length > 0) await holders.touchHolders(liveHolderIds);
      const uncharged = await leases.settle(
        holderId,
        settlements.map(({ charges, ...settlement }) => ({
          ...settlement,
          charges: charges.map(({ subjectId, windowStart }) => ({
            subjectId,
            windowStart: Number(windowStart),
          })),
        })),
      );
      const [first] = uncharged;
      if (first !== undefined) {
        const { tenantId, error } = first;
        log.warn(
          { err: error, tenant_id: tenantId, tenants: uncharged.length },
          'failed to charge settlements',
        );
        if (acceptsPartial !== true) throw error;
      }
      if (releasedHolderIds.length > 0) await holders.releaseHolders(releasedHolderIds);
      return { unchargedIds: uncharged.flatMap(({ ids }) => ids), chargesCounters: true };
    },
  };
}

function assertValid(
  { holderId, releasedHolderIds, liveHolderIds }: SettleRequest,
  settlements: readonly Settlement[],
): void {
  const ids = settlements.flatMap((settlement) => [
    settlement.id,
    settlement.tenantId,
    settlement.holderId,
    ...settlement.charges.map((charge) => charge.subjectId),
  ]);
  if (![holderId, ...releasedHolderIds, ...liveHolderIds, ...ids].every(isUuid))
    throw new AppError(
      'invalid_value',
      'The ids of holders, settlements, tenants and subjects must be UUIDs.',
    );
}
