import { settledWithin } from '@gatehouse/kit/clock';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import type { Pool, PoolClient } from 'pg';
import { databaseBusy } from './errors.ts';

/** Longer than a statement may take, as in the queue of a pool. */
const longestWait = { ms: 7_000, error: databaseBusy };
const longestCloseMs = 1_000;

interface PoolMember {
  waiting: number;
  /** Work with a connection, or about to get one. */
  running: number;
}

/**
 * A number of connections shared by several pools: together they have no more. Work of tenants takes turns at them, and
 * a tenant has half of them at most. A pool in need of one more connection closes an idle one of the least recently
 * used pool.
 */
export class SharedConnections {
  readonly slots: number;
  readonly #queue: FairQueue;
  /** Work of each pool. The most recently used pool comes last. */
  readonly #members = new Map<Pool, PoolMember>();
  /** Connections outside of their pool, but possibly open at the server. */
  #closing = 0;

  constructor(slots: number) {
    this.slots = slots;
    this.#queue = new FairQueue({ slots, perKey: Math.ceil(slots / 2), maxWaiting: 1_000, longestWait });
  }

  /** Work of a pool waiting for its turn. */
  waitingOf(pool: Pool): number {
    return this.#members.get(pool)?.waiting ?? 0;
  }

  /** Runs `work`, which takes one connection of `pool`, when the turn of `key` has come. */
  async run<Result>(
    pool: Pool,
    key: string | null,
    work: () => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    const member = this.#members.get(pool) ?? { waiting: 0, running: 0 };
    this.#members.delete(pool);
    this.#members.set(pool, member);
    const turn = { isWaiting: true };
    const begin = async (): Promise<Result> => {
      turn.isWaiting = false;
      member.waiting -= 1;
      member.running += 1;
      try {
        await this.#makeRoom();
        return await work();
      } finally {
        // Before the next work begins, which may need the connection.
        member.running -= 1;
      }
    };
    member.waiting += 1;
    try {
      return await this.#queue.run(key, begin, signal);
    } finally {
      if (turn.isWaiting) member.waiting -= 1;
    }
  }

  /** Closes an idle connection if there would be one too many. There is one then, since work has no more than `slots`. */
  async #makeRoom(): Promise<void> {
    const members = [...this.#members].filter(([pool]) => !pool.ending);
    const open = members.reduce(
      (sum, [pool, { running }]) => sum + Math.max(running, pool.totalCount),
      this.#closing,
    );
    if (open <= this.slots) return;
    const idle = members.find(([pool, { running }]) => pool.idleCount > 0 && pool.totalCount > running);
    if (idle === undefined) return;
    const [pool, member] = idle;
    // No other work counts on it meanwhile.
    member.running += 1;
    const client = await pool.connect().catch(() => null);
    member.running -= 1;
    if (client !== null) await this.#close(client);
  }

  async #close(client: PoolClient): Promise<void> {
    this.#closing += 1;
    const closed = new Promise((resolve) => client.once('end', resolve));
    client.release(true);
    await settledWithin(closed, longestCloseMs);
    this.#closing -= 1;
  }
}
