import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { insertInstance, signOff, touchInstance } from '../store/instance-system-store.ts';

export const heartbeatMs = 5_000;
/** After a heartbeat that failed, the next one comes sooner: silence is what we are judged by. */
const retryMs = 1_000;

/** An instance that has not been heard of for this long is dead. */
export const deadAfterMs = 15_000;

/**
 * The longest time between two heartbeats that is no gap. Shorter than two periods, so that whoever judges has missed
 * none; then nobody else can have missed so many that they seem dead.
 */
export const gapMs = 7_500;

/** This process among the instances of chat: its identity in the database, and its heartbeat. */
export class Instance {
  readonly #pool: Pool;
  readonly #log: Logger;
  /** One at a time: a heartbeat that hangs must not take more than one connection of the pool. */
  readonly #loop = new BackgroundLoop(async () => ((await this.#beat()) ? heartbeatMs : retryMs));
  #id = newId();
  /** Times of the database: of the last heartbeat, and of the first one after the last gap. */
  #lastBeat = -Infinity;
  #steadySince = Infinity;
  #renewing: Promise<void> | null = null;

  constructor(pool: Pool, log: Logger) {
    this.#pool = pool;
    this.#log = log;
  }

  get id(): string {
    return this.#id;
  }

  /**
   * The database's time of the last heartbeat, in milliseconds since the epoch; null until heartbeats have gone
   * through for a full dead period without a gap. Only then may this process judge others: after an outage of the
   * database, or a pause of our own, everybody's heartbeat looks old.
   */
  get steadyBeat(): number | null {
    return this.#lastBeat - this.#steadySince >= deadAfterMs ? this.#lastBeat : null;
  }

  async start(): Promise<void> {
    this.#note(await insertInstance(this.#pool, this.#id));
    this.#loop.start(heartbeatMs);
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await signOff(this.#pool, this.#id).catch((error: unknown) => {
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
    this.#note(await insertInstance(this.#pool, id));
    this.#log.warn(
      { dead_instance: this.#id, instance: id },
      'declared dead by another instance; registered anew',
    );
    this.#id = id;
  }

  async #beat(): Promise<boolean> {
    const id = this.#id;
    try {
      const at = await touchInstance(this.#pool, id);
      if (at === null) await this.renew(id);
      else this.#note(at);
      return true;
    } catch (error) {
      this.#log.warn({ err: error }, 'heartbeat failed');
      return false;
    }
  }

  #note(at: number): void {
    // The database's clock may also have been set back.
    if (Math.abs(at - this.#lastBeat) > gapMs) this.#steadySince = at;
    this.#lastBeat = at;
  }
}
