import { monotonicMs, settledWithin, sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import type { Registry } from '@gatehouse/kit/metrics';
import { listen, notify } from '@gatehouse/pg/notify';
import type { Pool, PoolClient } from '@gatehouse/pg/pool';
import { BatchPublisher, type QueuedEvent } from './batch-publisher.ts';
import type { Outbox, OutboxEntry } from './outbox.ts';
import { partitionCount } from './partitions.ts';
import { relayMetrics } from './relay-metrics.ts';
import { limitIdleSession, lockPartitions, readClock } from './store/relay-store.ts';
import { SettledTime } from './settled-time.ts';
import type { EventSink } from './sink.ts';
import { writeWatermark } from './watermark.ts';

export interface OutboxRelayOptions {
  /** The event source, like `gatehouse/chat`; also identifies the locks. */
  source: string;
  pool: Pool;
  outbox: Outbox;
  sink: EventSink;
  /** Whether to publish watermarks, which state the time up to which everything has been published. */
  watermarks: boolean;
  log: Logger;
  registry: Registry;
  /** A replica hanging for this long loses its partitions to another one. Default: 20 s. */
  idleSessionTimeoutMs?: number;
}

const allPartitions = Array.from({ length: partitionCount }, (_, partition) => partition);
/** Limits of one read, over all partitions. */
const pageLimits = { rows: 500, bytes: 4_000_000 };
/**
 * Between two reads while there is something to publish. Short, because requests wait for the core while a batch is
 * published and stored: with 100 ms, one in ten waited for 10 ms at 300 requests/s on one core.
 */
export const shortPauseMs = 30;
/** After a read of many events: most of the cost is the same for one event and for hundreds. */
export const longPauseMs = 100;
export const manyEvents = 64;
/**
 * Between two reads while there is nothing: commits of this replica wake its relay, and it wakes those of others. Each
 * statement of an idle system takes about 2 ms of a core.
 */
const longestIdleMs = 3_000;
/** Between two notifications of other replicas: a woken one goes on looking for a while. */
const notifyEveryMs = 1_000;
const retryMs = 1_000;
const lockEveryMs = 2_000;
/**
 * PostgreSQL ends the session of a hanging replica after this time, and another replica takes its partitions. Longer
 * than the timeout of any sink, because the session runs no statement during a publication. A replica continuing later
 * may publish one batch twice.
 */
const defaultIdleSessionTimeoutMs = 20_000;
const watermarkEveryMs = 1_000;
const countEveryMs = 10_000;
const deleteDeadLettersEveryMs = 3_600_000;
/** Beyond this number only the age matters. */
const mostCounted = 100_000;

/**
 * Publishes an outbox in order, at least once. Every replica runs a relay. The replica with the lock of a partition
 * publishes it; another one takes over when the session ends, and PostgreSQL ends the session of a hanging replica.
 */
export class OutboxRelay {
  readonly #options: OutboxRelayOptions;
  readonly #stopping = new AbortController();
  readonly #metrics: ReturnType<typeof relayMetrics>;
  #running: Promise<void> = Promise.resolve();
  #woken = Promise.withResolvers<undefined>();
  /** Between the last read and the next. */
  #pauseMs = shortPauseMs;
  /** Whether this replica has committed something since the last read. */
  #committed = false;

  constructor(options: OutboxRelayOptions) {
    this.#options = options;
    this.#metrics = relayMetrics(options.registry, options.outbox.name);
  }

  start(): void {
    this.#running = this.#keepRunning();
  }

  /** Call when something was committed to the outbox. */
  wake(): void {
    this.#committed = true;
    this.#lookNow();
  }

  /** Starts again with short pauses: committed rows may be visible a little later, and more may follow. */
  #lookNow(): void {
    this.#pauseMs = shortPauseMs;
    this.#woken.resolve(undefined);
  }

  /** Publishes what is in the outbox, then releases the partitions. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#lookNow();
    await this.#running;
    await this.#options.sink.close();
  }

  async #keepRunning(): Promise<void> {
    const { log, pool } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let client: PoolClient | undefined;
      try {
        client = await pool.connect();
        await this.#runSession(client);
      } catch (error) {
        this.#metrics.failures.inc();
        log.warn({ err: error }, 'failed to publish events; retrying');
        await sleep(retryMs, signal).catch(() => undefined);
      } finally {
        this.#metrics.partitions.set(0);
        // Closes the session, which releases its locks.
        client?.release(true);
      }
    }
  }

  /** Works until stopped. Any error ends the session, and another replica can take over. */
  async #runSession(client: PoolClient): Promise<void> {
    const { signal } = this.#stopping;
    const { idleSessionTimeoutMs = defaultIdleSessionTimeoutMs } = this.#options;
    await limitIdleSession(client, idleSessionTimeoutMs);
    await listen(client, this.#options.source, () => this.#lookNow());
    const session = new RelaySession(this.#options, this.#metrics, client);
    for (;;) {
      const last = signal.aborted;
      // Before the read: what is committed later may not be in it.
      this.#woken = Promise.withResolvers();
      const committed = this.#committed;
      this.#committed = false;
      const outcome = await session.turn();
      if (committed) await session.wakeOthers();
      if (last) return;
      if (outcome === 'more') continue;
      this.#pauseMs = outcome === 'nothing' ? Math.min(2 * this.#pauseMs, longestIdleMs) : shortPauseMs;
      await sleep(outcome === 'many' ? longPauseMs : shortPauseMs, signal).catch(() => undefined);
      if (outcome !== 'nothing') continue;
      const leftMs = Math.min(this.#pauseMs - shortPauseMs, session.untilRetryMs);
      await settledWithin(this.#woken.promise, leftMs);
    }
  }
}

/** The state of a relay during one database session. */
class RelaySession {
  readonly #options: OutboxRelayOptions;
  readonly #metrics: ReturnType<typeof relayMetrics>;
  readonly #client: PoolClient;
  readonly #publisher: BatchPublisher;
  readonly #settled = new SettledTime();
  /** Partitions with events rejected by the sink, with the time of the next attempt, by `monotonicMs`. */
  readonly #deferred = new Map<number, number>();
  #owned: number[] = [];
  #lockAt = 0;
  #watermarkAt = 0;
  #countAt = 0;
  #deleteDeadLettersAt = 0;
  #notifyAt = 0;
  #settledAt: Date | null = null;

  constructor(options: OutboxRelayOptions, metrics: ReturnType<typeof relayMetrics>, client: PoolClient) {
    this.#options = options;
    this.#metrics = metrics;
    this.#client = client;
    this.#publisher = new BatchPublisher({
      sink: options.sink,
      remove: (ids) => this.#remove(ids),
      deadLetter: (id, reason) => this.#deadLetter(id, reason),
    });
  }

  /** Publishes one page of the outbox. Returns how many events it had: after a full page, there are probably more. */
  async turn(): Promise<'nothing' | 'some' | 'many' | 'more'> {
    await this.#takeFreePartitions();
    await this.#count();
    await this.#deleteOldDeadLetters();
    const ready = this.#owned.filter((partition) => !this.#isDeferred(partition));
    if (ready.length === 0) return 'nothing';
    const { outbox, watermarks } = this.#options;
    // Read the clock first: what is settled now was published earlier or is in the next page.
    const clock = watermarks ? await readClock(this.#client) : null;
    if (clock !== null) this.#settledAt = this.#settled.take(clock) ?? this.#settledAt;
    // A read a moment early would let it wait for the next one.
    const isDue = clock !== null && clock.at.getTime() - this.#watermarkAt >= watermarkEveryMs - shortPauseMs;
    const completeAt = isDue && this.#settledAt !== null ? await this.#completeAt(this.#settledAt) : null;
    const { entries, full } = await outbox.read(this.#client, ready, pageLimits);
    const queues = byPartition(entries);
    // If the page was full, unread rows may be older than the settled time.
    if (clock !== null && !full && completeAt !== null) {
      this.#watermarkAt = clock.at.getTime();
      this.#addWatermarks(queues, ready, completeAt);
    }
    for (const entry of entries) if (entry.json === null) await this.#deadLetter(entry.id, entry.problem);
    this.#defer(await this.#publisher.publish(queues));
    if (full) return 'more';
    if (entries.length >= manyEvents) return 'many';
    return entries.length > 0 ? 'some' : 'nothing';
  }

  /** Until a refused partition is tried again. */
  get untilRetryMs(): number {
    return Math.max(0, Math.min(...this.#deferred.values()) - monotonicMs());
  }

  /** Wakes the relays of the other partitions: one of theirs may have events committed by this replica. */
  async wakeOthers(): Promise<void> {
    if (this.#owned.length === partitionCount || monotonicMs() < this.#notifyAt) return;
    this.#notifyAt = monotonicMs() + notifyEveryMs;
    await notify(this.#client, this.#options.source);
  }

  async #remove(ids: string[]): Promise<void> {
    await this.#options.outbox.remove(this.#client, ids);
    this.#metrics.published.inc(ids.length);
  }

  async #deadLetter(id: string, reason: string): Promise<void> {
    const { outbox, log } = this.#options;
    await outbox.deadLetter(this.#client, id, reason);
    this.#metrics.deadLetters.inc();
    log.error({ outbox_id: id, reason }, 'failed to publish an event; moved it to the dead letters');
  }

  #isDeferred(partition: number): boolean {
    const until = this.#deferred.get(partition);
    if (until === undefined) return false;
    if (monotonicMs() < until) return true;
    this.#deferred.delete(partition);
    return false;
  }

  #defer(failed: ReadonlyMap<number, Error>): void {
    for (const [partition, error] of failed) {
      this.#metrics.failures.inc();
      this.#options.log.warn({ err: error, partition }, 'failed to publish events of a partition; retrying');
      this.#deferred.set(partition, monotonicMs() + retryMs);
    }
  }

  async #takeFreePartitions(): Promise<void> {
    if (monotonicMs() < this.#lockAt || this.#owned.length === partitionCount) return;
    this.#lockAt = monotonicMs() + lockEveryMs;
    const free = allPartitions.filter((partition) => !this.#owned.includes(partition));
    const taken = await lockPartitions(this.#client, this.#options.source, free);
    this.#owned = [...this.#owned, ...taken];
    this.#metrics.partitions.set(this.#owned.length);
  }

  /**
   * Counts the entries of the locked partitions. The age covers all partitions, because the replica with the oldest
   * entry may hang and report nothing.
   */
  async #count(): Promise<void> {
    if (monotonicMs() < this.#countAt) return;
    this.#countAt = monotonicMs() + countEveryMs;
    const { outbox } = this.#options;
    const { age, entries } = this.#metrics;
    age.set(await outbox.ageSeconds(this.#client, allPartitions));
    entries.set(await outbox.count(this.#client, this.#owned, mostCounted));
  }

  /** Runs once an hour. */
  async #deleteOldDeadLetters(): Promise<void> {
    if (monotonicMs() < this.#deleteDeadLettersAt) return;
    this.#deleteDeadLettersAt = monotonicMs() + deleteDeadLettersEveryMs;
    const { outbox, log } = this.#options;
    await outbox.deleteOldDeadLetters(this.#client).catch((error: unknown) => {
      log.warn({ err: error }, 'failed to delete old dead letters; retrying in an hour');
    });
  }

  /**
   * The settled time, or an earlier time of the oldest event still to be published without the outbox. To be read
   * before the outbox: an event moved to the outbox meanwhile is in the next page, or holds the time back.
   */
  async #completeAt(settledAt: Date): Promise<Date> {
    const heldAt = await this.#options.outbox.heldAt(this.#client);
    return heldAt !== null && heldAt < settledAt ? heldAt : settledAt;
  }

  /** Adds a watermark after the events of each partition, to be published after everything older. */
  #addWatermarks(queues: Map<number, QueuedEvent[]>, ready: readonly number[], completeAt: Date): void {
    const { source } = this.#options;
    const watermark = completeAt.toISOString();
    for (const partition of ready) {
      const json = writeWatermark(source, { partition, partitions: partitionCount, watermark });
      queueOf(queues, partition).push({ id: null, key: source, json });
    }
  }
}

function byPartition(entries: readonly OutboxEntry[]): Map<number, QueuedEvent[]> {
  const queues = new Map<number, QueuedEvent[]>();
  for (const entry of entries) {
    if (entry.json === null) continue;
    const { id, partition, key, json } = entry;
    queueOf(queues, partition).push({ id, key, json });
  }
  return queues;
}

function queueOf(queues: Map<number, QueuedEvent[]>, partition: number): QueuedEvent[] {
  const known = queues.get(partition);
  if (known !== undefined) return known;
  const queue: QueuedEvent[] = [];
  queues.set(partition, queue);
  return queue;
}
