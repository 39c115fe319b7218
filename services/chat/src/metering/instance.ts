import { monotonicMs } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { deleteInstance, insertInstance, touchInstance } from '../store/instance-system-store.ts';

export const heartbeatMs = 5_000;

/** An instance that has not been heard of for this long is dead. */
export const deadAfterMs = 15_000;

/** This process among the instances of chat: its identity in the database, and its heartbeat. */
export class Instance {
  readonly #pool: Pool;
  readonly #log: Logger;
  #id = newId();
  #timer: NodeJS.Timeout | undefined;
  #lastBeat = -Infinity;
  #steadySince = 0;
  #renewing: Promise<void> | null = null;

  constructor(pool: Pool, log: Logger) {
    this.#pool = pool;
    this.#log = log;
  }

  get id(): string {
    return this.#id;
  }

  /**
   * How long heartbeats have gone through without a gap. Only after a full dead period of that does this process
   * judge others: after an outage of the database, or a pause of our own, everybody's heartbeat looks old.
   */
  get steadyMs(): number {
    const now = monotonicMs();
    return now - this.#lastBeat > 2 * heartbeatMs ? 0 : now - this.#steadySince;
  }

  async start(): Promise<void> {
    await insertInstance(this.#pool, this.#id);
    this.#noteBeat();
    this.#timer = setInterval(() => void this.#beat(), heartbeatMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await deleteInstance(this.#pool, this.#id).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'could not sign off; the instance will be declared dead');
    });
  }

  /** Starts over under a new id after this one was declared dead. Its runs have been ended by another instance. */
  renew(deadId: string): Promise<void> {
    if (deadId !== this.#id) return Promise.resolve();
    this.#renewing ??= this.#register().finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  async #register(): Promise<void> {
    const id = newId();
    await insertInstance(this.#pool, id);
    this.#log.warn(
      { dead_instance: this.#id, instance: id },
      'declared dead by another instance; registered anew',
    );
    this.#id = id;
  }

  async #beat(): Promise<void> {
    const id = this.#id;
    try {
      if (!(await touchInstance(this.#pool, id))) await this.renew(id);
      this.#noteBeat();
    } catch (error) {
      this.#log.warn({ err: error }, 'heartbeat failed');
    }
  }

  #noteBeat(): void {
    const now = monotonicMs();
    if (now - this.#lastBeat > 2 * heartbeatMs) this.#steadySince = now;
    this.#lastBeat = now;
  }
}
