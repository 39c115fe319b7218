import { newId } from '@gatehouse/kit/ids';
import {
  Resource,
  type Ask,
  type Grant,
  type SettleRequest,
  type Settlement,
} from '@gatehouse/proto/tenant/v1/tenant';
import type { TenantServiceUnderTest, TestTenant } from './tenant-service.ts';

/** A replica of chat, as the tenant service sees it. */
export class Replica {
  readonly id = newId();
  readonly #service: TenantServiceUnderTest;
  #sequence = 0n;

  constructor(service: TenantServiceUnderTest) {
    this.#service = service;
  }

  async lease(tenantId: string, asks: Partial<Ask>[], sequence?: bigint): Promise<Grant[]> {
    return this.leaseTogether(tenantId, asks, [], sequence);
  }

  /** Leases to requests with needs in several of the limits: amounts by the index of the limit. */
  async leaseTogether(
    tenantId: string,
    asks: Partial<Ask>[],
    demands: readonly Readonly<Record<number, bigint>>[],
    sequence = (this.#sequence += 1n),
  ): Promise<Grant[]> {
    const peer = await this.#service.peer('chat');
    const request = {
      holderId: this.id,
      sequence,
      tenantId,
      asks: asks.map((ask) => ({
        subjectId: tenantId,
        resource: Resource.REQUESTS,
        windowStart: 0n,
        returned: 0n,
        holding: 0n,
        needs: [],
        groups: [],
        ...ask,
      })),
      demands: demands.map((demand) => ({
        needs: Object.entries(demand).map(([ask, amount]) => ({ ask: Number(ask), amount })),
      })),
    };
    return (await peer.call('lease', request, { deadlineMs: 30_000 })).grants;
  }

  async leaseOne(tenantId: string, ask: Partial<Ask>): Promise<Grant> {
    const [grant] = await this.lease(tenantId, [ask]);
    if (grant === undefined) throw new Error('no grant');
    return grant;
  }

  /** Fails when a settlement can't be charged, as for the release before. */
  async settle(settlements: Settlement[], releasedHolderIds: string[] = []): Promise<void> {
    await this.#settle({ settlements, releasedHolderIds });
  }

  /** Returns the ids of settlements that can't be charged. */
  async settlePartially(settlements: Settlement[]): Promise<string[]> {
    return this.#settle({ settlements, releasedHolderIds: [], acceptsPartial: true });
  }

  /** A heartbeat, also of others. */
  async showLife(liveHolderIds: string[]): Promise<void> {
    await this.#settle({ settlements: [], releasedHolderIds: [], liveHolderIds });
  }

  async #settle(
    request: Omit<SettleRequest, 'holderId' | 'liveHolderIds' | 'counterSettlements'> & {
      liveHolderIds?: string[];
    },
  ): Promise<string[]> {
    const peer = await this.#service.peer('chat');
    const { unchargedIds } = await peer.call(
      'settle',
      { holderId: this.id, liveHolderIds: [], counterSettlements: [], ...request },
      { deadlineMs: 30_000 },
    );
    return unchargedIds;
  }
}

/** The cost of runs that `holder` reserved for in the window of `grant`. */
export function settlementOf(
  tenant: TestTenant,
  holder: Replica,
  grant: Grant,
  costPico: bigint,
): Settlement {
  const charges = [{ subjectId: tenant.id, windowStart: grant.windowStart }];
  return { id: newId(), tenantId: tenant.id, holderId: holder.id, charges, costPico };
}

/** The limits of requests, tokens, concurrency and budget that `GET /v1/limits` answers to the tenant's admin. */
export async function limitsOf(
  service: TenantServiceUnderTest,
  tenant: TestTenant,
): Promise<Record<string, unknown>[]> {
  return (await allLimitsOf(service, tenant)).filter(
    ({ resource }) => !String(resource).startsWith('memory_'),
  );
}

/** The same with the limits of memory, which every tenant has. */
export async function allLimitsOf(
  service: TenantServiceUnderTest,
  tenant: TestTenant,
): Promise<Record<string, unknown>[]> {
  const { body } = await service.call('GET', '/v1/limits', { as: tenant.admin });
  return (body as unknown as { limits: Record<string, unknown>[] }).limits;
}
