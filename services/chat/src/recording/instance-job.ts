import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import { Heartbeat } from '@gatehouse/pg/heartbeat';
import type { Pool } from '@gatehouse/pg/pool';
import { beatOf, insertInstance, signOff, type BeatRow } from './instance-system-store.ts';
import { heartbeatMs, shortRetryMs, deadAfterMs, heartbeatGapMs } from '../bounds.ts';

/**
 * This process among the instances of chat: its identity in the database, and its heartbeat, which comes from a thread: a
 * busy event loop is not dead.
 */
export class Instance {
  readonly #pool: Pool;
  readonly #log: Logger;
  readonly #heartbeat: Heartbeat<BeatRow>;
  #id = newId();
  /** By the database clock: the last heartbeat, and the first one after the last gap. */
  #lastBeat = -Infinity;
  #steadySince = Infinity;
  #renewing: Promise<void> | null = null;

  /** `pool` acts as `chat_system`; `url` is its database. */
  constructor({ pool, url, log }: { pool: Pool; url: string; log: Logger }) {
    this.#pool = pool;
    this.#log = log;
    this.#heartbeat = new Heartbeat({
      ...{ url, role: 'chat_system', service: 'chat', log, everyMs: heartbeatMs, retryMs: shortRetryMs },
      onBeat: ([row]: readonly BeatRow[]) => this.#take(row),
    });
  }

  get id(): string {
    return this.#id;
  }

  /**
   * The time of the last heartbeat by the database clock, in milliseconds since the epoch; null until heartbeats have gone
   * through for a full dead period without a gap. Only then may this process declare others dead: after an outage of the
   * database, or a pause of this process, all heartbeats look old.
   */
  get steadyBeat(): number | null {
    return this.#lastBeat - this.#steadySince >= deadAfterMs ? this.#lastBeat : null;
  }

  async start(): Promise<void> {
    this.#note(await insertInstance(this.#pool, this.#id));
    this.#heartbeat.set(beatOf(this.#id));
    this.#heartbeat.start();
  }

  async stop(): Promise<void> {
    await this.#heartbeat.stop();
    await signOff(this.#pool, this.#id).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'failed to remove the instance; it will be declared dead');
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
      'declared dead by another instance; registered under a new id',
    );
    this.#id = id;
    this.#heartbeat.set(beatOf(id));
  }

  /** Row of a heartbeat; undefined if this instance was declared dead. */
  #take(row: BeatRow | undefined): void {
    if (row !== undefined) {
      this.#note(row.beat_at);
      return;
    }
    // The next heartbeat tries again.
    this.renew(this.#id).catch((error: unknown) => this.#log.warn({ err: error }, 'failed to register anew'));
  }

  #note(at: number): void {
    // The clock of the database may have been set back.
    if (Math.abs(at - this.#lastBeat) > heartbeatGapMs) this.#steadySince = at;
    this.#lastBeat = at;
  }
}
