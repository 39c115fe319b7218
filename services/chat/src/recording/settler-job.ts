import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import { counter, type Counter, type Registry } from '@gatehouse/kit/metrics';
import type { Pool } from '@gatehouse/pg/pool';
import type { Limiter } from '../limits/limiter.ts';
import type { LeaseClient } from '../limits/lease-client.ts';
import {
  deleteSettlements,
  findReleasable,
  findUncharged,
  makeSettlements,
  markReleased,
  type Settlement,
} from './settlement-system-store.ts';
import { settlementParts } from './settlement-parts.ts';
import { findLive } from './instance-system-store.ts';
import type { Instance } from './instance-job.ts';
import { heartbeatGapMs, maxUncharged, settleEveryMs, settleRounds } from '../bounds.ts';

/** Below all ids. */
const firstId = '00000000-0000-0000-0000-000000000000';

export interface SettlerOptions {
  pool: Pool;
  leases: LeaseClient;
  instance: Instance;
  limiter: Limiter;
  log: Logger;
  registry: Registry;
  /** How many ends of runs this replica has committed. */
  countEnds: () => number;
}

/**
 * Sends the costs of runs to the tenant service, which charges their budgets, also for runs of dead replicas. Keeps alive
 * what this replica holds of limits, and releases what dead replicas held.
 */
export class Settler {
  readonly #options: SettlerOptions;
  readonly #failures: Counter;
  readonly #loop = new BackgroundLoop(async () => {
    await this.#work();
    return settleEveryMs;
  });
  #round = 0;
  /** Ends of this replica after which nothing was left to settle; null if something may be. */
  #settledEnds: number | null = null;
  /** Id of the last settlement sent again. */
  #after = firstId;

  constructor(options: SettlerOptions) {
    this.#options = options;
    this.#failures = counter(
      options.registry,
      'gatehouse_settlement_failures_total',
      'Settlements that the tenant service could not charge; each attempt counts',
    );
  }

  start(): void {
    this.#loop.start(settleEveryMs);
  }

  /** Settles costs and returns leases. Another replica sends what can't be sent now. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#options.limiter.stop();
    await this.#try(() => this.#settle());
  }

  async #work(): Promise<void> {
    this.#round += 1;
    this.#options.limiter.renew();
    this.#options.limiter.idleTenants.forget();
    if (this.#round % settleRounds === 0) {
      // First, and whatever else fails: during an outage of the database, streams go on and need their slots.
      await this.#try(() => this.#showLife());
      await this.#try(() => this.#releaseDead());
    }
    if (this.#options.countEnds() !== this.#settledEnds || this.#round % settleRounds === 0)
      await this.#try(() => this.#settle());
  }

  /**
   * New settlements have a call of their own, and older ones take turns, so settlements which can't be charged do not
   * delay those of other tenants. So have refunds, which the previous release of the tenant service rejects.
   */
  async #settle(): Promise<void> {
    const { id } = this.#options.instance;
    // In case of an error, the next round looks again.
    this.#settledEnds = null;
    const ends = this.#options.countEnds();
    const uncharged = await findUncharged(this.#options.pool, id, this.#after);
    this.#after = uncharged.length < maxUncharged ? firstId : (uncharged.at(-1)?.id ?? firstId);
    const made = await makeSettlements(this.#options.pool, id);
    for (const settlements of [made, uncharged].flatMap(bySign).flatMap(settlementParts))
      await this.#try(() => this.#charge(settlements));
    this.#settledEnds = made.length === 0 && uncharged.length === 0 ? ends : null;
  }

  /**
   * Keeps the slots of this replica, and of others with continuing heartbeats, which may be too busy for this. A dead
   * one's are kept for `heartbeatGapMs` more.
   */
  async #showLife(): Promise<void> {
    const others = await findLive(this.#options.pool, this.#options.instance.id, heartbeatGapMs).catch(
      () => [],
    );
    if (this.#options.limiter.inUse || others.length > 0) await this.#send({ liveHolderIds: others });
  }

  async #charge(settlements: readonly Settlement[]): Promise<void> {
    if (settlements.length === 0) return;
    const unchargedIds = new Set(await this.#send({ settlements }));
    this.#failures.inc(unchargedIds.size);
    const charged = settlements.filter((settlement) => !unchargedIds.has(settlement.id));
    await deleteSettlements(
      this.#options.pool,
      charged.map((settlement) => settlement.id),
    );
    for (const { holderId, tenantId, charges, costPico } of charged)
      if (holderId === this.#options.instance.id) this.#options.limiter.settled(tenantId, charges, costPico);
  }

  async #releaseDead(): Promise<void> {
    const released = await findReleasable(this.#options.pool);
    if (released.length === 0) return;
    await this.#send({ releasedHolderIds: released });
    await markReleased(this.#options.pool, released);
  }

  /** Returns the ids of settlements not charged. */
  async #send({
    settlements = [],
    releasedHolderIds = [],
    liveHolderIds = [],
  }: {
    settlements?: readonly Settlement[];
    releasedHolderIds?: string[];
    liveHolderIds?: string[];
  }): Promise<string[]> {
    return this.#options.leases.settle({
      holderId: this.#options.instance.id,
      liveHolderIds,
      settlements: settlements.map(({ charges, ...settlement }) => ({
        ...settlement,
        charges: charges.map((charge) => ({ ...charge, windowStart: BigInt(charge.windowStart) })),
      })),
      releasedHolderIds,
    });
  }

  async #try(work: () => Promise<unknown>): Promise<void> {
    await work().catch((error: unknown) =>
      this.#options.log.warn({ err: error }, 'failed to settle budgets'),
    );
  }
}

/** Charges and refunds. */
function bySign(settlements: readonly Settlement[]): Settlement[][] {
  return [
    settlements.filter(({ costPico }) => costPico >= 0n),
    settlements.filter(({ costPico }) => costPico < 0n),
  ];
}
