import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import { Counter, type Registry } from '@gatehouse/kit/metrics';
import type { Pool } from '@gatehouse/pg/pool';
import type { Limiter } from '../limits/limiter.ts';
import type { LeaseClient } from '../peers/leases.ts';
import {
  deleteSettlements,
  findReleasable,
  findUncharged,
  makeSettlements,
  markReleased,
  maxUncharged,
  type Settlement,
} from '../store/settlement-system-store.ts';
import type { Instance } from './instance.ts';

const everyMs = 1_000;
/** In rounds: the tenant service takes silence of 20 s for death. */
const signEveryRounds = 5;
/** Below all ids. */
const firstId = '00000000-0000-0000-0000-000000000000';

/**
 * Sends to the tenant service what runs came to, so that it is charged to their budgets whatever became of the replica
 * that worked on them; keeps what this replica holds alive; frees what dead ones held.
 */
export class Settler {
  readonly #pool: Pool;
  readonly #leases: LeaseClient;
  readonly #instance: Instance;
  readonly #limiter: Limiter;
  readonly #log: Logger;
  readonly #failures: Counter;
  readonly #loop = new BackgroundLoop(async () => {
    await this.#work();
    return everyMs;
  });
  #round = 0;
  /** The id of the last settlement that was sent again. */
  #after = firstId;

  constructor(options: {
    pool: Pool;
    leases: LeaseClient;
    instance: Instance;
    limiter: Limiter;
    log: Logger;
    registry: Registry;
  }) {
    this.#pool = options.pool;
    this.#leases = options.leases;
    this.#instance = options.instance;
    this.#limiter = options.limiter;
    this.#log = options.log;
    this.#failures = new Counter({
      name: 'gatehouse_settlement_failures_total',
      help: 'Settlements that the tenant service could not charge; each attempt counts',
      registers: [options.registry],
    });
  }

  start(): void {
    this.#loop.start(everyMs);
  }

  /** Settles what there is and gives back what is leased. What can't be sent now, another replica will send. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#limiter.stop();
    await this.#try(() => this.#settle());
  }

  async #work(): Promise<void> {
    this.#round += 1;
    this.#limiter.renew();
    this.#limiter.forgetIdle();
    if (this.#round % signEveryRounds === 0) {
      // First of all, and whatever else fails: while our own database is away, streams go on and need their slots.
      if (this.#limiter.inUse) await this.#try(() => this.#send([], []));
      await this.#try(() => this.#releaseDead());
    }
    await this.#try(() => this.#settle());
  }

  /**
   * New settlements have a call of their own, and the others take turns: settlements that can't be charged must not keep
   * those of other tenants waiting.
   */
  async #settle(): Promise<void> {
    const { id } = this.#instance;
    const uncharged = await findUncharged(this.#pool, id, this.#after);
    this.#after = uncharged.length < maxUncharged ? firstId : (uncharged.at(-1)?.id ?? firstId);
    const made = await makeSettlements(this.#pool, id);
    for (const settlements of [made, uncharged]) await this.#try(() => this.#charge(settlements));
  }

  async #charge(settlements: readonly Settlement[]): Promise<void> {
    if (settlements.length === 0) return;
    const unchargedIds = new Set(await this.#send(settlements, []));
    this.#failures.inc(unchargedIds.size);
    const charged = settlements.filter((settlement) => !unchargedIds.has(settlement.id));
    await deleteSettlements(
      this.#pool,
      charged.map((settlement) => settlement.id),
    );
    for (const { holderId, tenantId, charges, costPico } of charged)
      if (holderId === this.#instance.id) this.#limiter.settled(tenantId, charges, costPico);
  }

  async #releaseDead(): Promise<void> {
    const released = await findReleasable(this.#pool);
    if (released.length === 0) return;
    await this.#send([], released);
    await markReleased(this.#pool, released);
  }

  /** Returns the ids of settlements that could not be charged. */
  async #send(settlements: readonly Settlement[], releasedHolderIds: string[]): Promise<string[]> {
    return this.#leases.settle({
      holderId: this.#instance.id,
      settlements: settlements.map(({ charges, ...settlement }) => ({
        ...settlement,
        charges: charges.map((charge) => ({ ...charge, windowStart: BigInt(charge.windowStart) })),
      })),
      releasedHolderIds,
    });
  }

  async #try(work: () => Promise<unknown>): Promise<void> {
    await work().catch((error: unknown) => this.#log.warn({ err: error }, 'budgets could not be settled'));
  }
}
