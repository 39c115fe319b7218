import type { Peer } from '@gatehouse/grpc/client';
import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import type { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { Quotas } from '../limits/quotas.ts';
import {
  deleteSettlements,
  findReleasable,
  findSettlements,
  markReleased,
  type Settlement,
} from '../store/settlement-system-store.ts';
import type { Instance } from './instance.ts';

const everyMs = 1_000;
/** The tenant service takes silence of 20 s for death. */
const signEveryRounds = 5;
const batch = 500;
const deadlineMs = 5_000;

/**
 * Sends to the tenant service what runs came to, so that it is charged to their budgets whatever became of the replica
 * that worked on them; keeps what this replica holds alive; frees what dead ones held.
 */
export class Settler {
  readonly #pool: Pool;
  readonly #peer: Peer<TenantServiceClient>;
  readonly #instance: Instance;
  readonly #quotas: Quotas;
  readonly #log: Logger;
  readonly #loop = new BackgroundLoop(async () => {
    await this.#try(() => this.#work());
    return everyMs;
  });
  #round = 0;

  constructor(options: {
    pool: Pool;
    peer: Peer<TenantServiceClient>;
    instance: Instance;
    quotas: Quotas;
    log: Logger;
  }) {
    this.#pool = options.pool;
    this.#peer = options.peer;
    this.#instance = options.instance;
    this.#quotas = options.quotas;
    this.#log = options.log;
  }

  start(): void {
    this.#loop.start(everyMs);
  }

  /** Settles what there is and gives back what is leased. What can't be sent now, another replica will send. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#quotas.stop();
    await this.#try(() => this.#settle());
  }

  async #work(): Promise<void> {
    this.#round += 1;
    const signs = this.#round % signEveryRounds === 0;
    const settled = await this.#settle();
    const released = signs ? await findReleasable(this.#pool) : [];
    if (released.length > 0 || (signs && settled === 0 && this.#quotas.inUse)) await this.#send([], released);
    if (released.length > 0) await markReleased(this.#pool, released);
  }

  /** How many runs were settled. */
  async #settle(): Promise<number> {
    let count = 0;
    for (;;) {
      const { id } = this.#instance;
      const settlements = await findSettlements(this.#pool, id, batch);
      if (settlements.length === 0) return count;
      await this.#send(settlements, []);
      await deleteSettlements(
        this.#pool,
        settlements.map(({ runId }) => runId),
      );
      for (const { holderId, tenantId, charges, costPico } of settlements)
        if (holderId === id) this.#quotas.settled(tenantId, charges, costPico);
      count += settlements.length;
    }
  }

  async #send(settlements: readonly Settlement[], releasedHolderIds: string[]): Promise<void> {
    const request = {
      holderId: this.#instance.id,
      settlements: settlements.map(({ charges, ...settlement }) => ({
        ...settlement,
        charges: charges.map((charge) => ({ ...charge, windowStart: BigInt(charge.windowStart) })),
      })),
      releasedHolderIds,
    };
    await this.#peer.call('settle', request, { deadlineMs });
  }

  async #try(work: () => Promise<unknown>): Promise<void> {
    await work().catch((error: unknown) => this.#log.warn({ err: error }, 'budgets could not be settled'));
  }
}
