import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { Counter, Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { Pool, PoolClient } from '@gatehouse/pg/pool';
import { BatchPublisher, type QueuedEvent } from './batch-publisher.ts';
import type { Outbox, OutboxEntry } from './outbox.ts';
import { partitionCount } from './partitions.ts';
import { limitIdleSession, lockPartitions, readClock } from './store/relay-store.ts';
import { SettledTime } from './settled-time.ts';
import type { EventSink } from './sink.ts';
import { writeWatermark } from './watermark.ts';

export interface RelayOptions {
  /** Names the locks and is the source of the watermarks: `gatehouse/chat`. */
  source: string;
  pool: Pool;
  outbox: Outbox;
  sink: EventSink;
  /** Whether to say from time to time up to when everything has been published, for those who must know. */
  watermarks: boolean;
  log: Logger;
  registry: Registry;
}

const allPartitions = Array.from({ length: partitionCount }, (_, partition) => partition);
/** What one turn reads at most, of all partitions. */
const pageLimits = { rows: 500, bytes: 4_000_000 };
const idleMs = 100;
const retryMs = 1_000;
const lockEveryMs = 2_000;
/**
 * A replica that hangs loses its partitions to another one after this time. Above what a sink takes: while an event is
 * published, its session runs no statement. A replica that goes on later may publish one batch again.
 */
const idleSessionTimeoutMs = 20_000;
const watermarkEveryMs = 1_000;
const countEveryMs = 5_000;
const deleteDeadLettersEveryMs = 3_600_000;
/** Beyond, what matters is the age. */
const mostCounted = 100_000;

/**
 * Publishes an outbox in order, at least once. Every replica runs one; each partition is published by the one that
 * holds its lock, and by another as soon as that one's database session ends: PostgreSQL ends it when the replica hangs.
 */
export class Relay {
  readonly #options: RelayOptions;
  readonly #stopping = new AbortController();
  readonly #metrics: ReturnType<typeof relayMetrics>;
  #running: Promise<void> = Promise.resolve();

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#metrics = relayMetrics(options.registry);
  }

  start(): void {
    this.#running = this.#keepRunning();
  }

  /** Publishes what is there now and lets go of the partitions. */
  async stop(): Promise<void> {
    this.#stopping.abort();
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
        log.warn({ err: error }, 'publishing events failed; it is tried again');
        await sleep(retryMs, signal).catch(() => undefined);
      } finally {
        // Ends the session and with it its locks.
        client?.release(true);
      }
    }
  }

  /** Works until it is stopped; whatever fails ends the session, so that another replica may take over. */
  async #runSession(client: PoolClient): Promise<void> {
    const { signal } = this.#stopping;
    await limitIdleSession(client, idleSessionTimeoutMs);
    const session = new RelaySession(this.#options, this.#metrics, client);
    for (;;) {
      const last = signal.aborted;
      const full = await session.turn();
      if (last) return;
      if (!full) await sleep(idleMs, signal).catch(() => undefined);
    }
  }
}

/** What one relay knows while its database session lasts. */
class RelaySession {
  readonly #options: RelayOptions;
  readonly #metrics: ReturnType<typeof relayMetrics>;
  readonly #client: PoolClient;
  readonly #publisher: BatchPublisher;
  readonly #settled = new SettledTime();
  /** Partitions whose events the sink refused, and until when they wait, by the process's clock. */
  readonly #deferred = new Map<number, number>();
  #owned: number[] = [];
  #lockAt = 0;
  #watermarkAt = 0;
  #countAt = 0;
  #deleteDeadLettersAt = 0;
  #settledAt: Date | null = null;

  constructor(options: RelayOptions, metrics: ReturnType<typeof relayMetrics>, client: PoolClient) {
    this.#options = options;
    this.#metrics = metrics;
    this.#client = client;
    this.#publisher = new BatchPublisher({
      sink: options.sink,
      remove: (ids) => this.#remove(ids),
      deadLetter: (id, reason) => this.#deadLetter(id, reason),
    });
  }

  /** Publishes one page of the outbox. True when there is probably more. */
  async turn(): Promise<boolean> {
    await this.#takeFreePartitions();
    await this.#count();
    await this.#deleteOldDeadLetters();
    const ready = this.#owned.filter((partition) => !this.#isDeferred(partition));
    if (ready.length === 0) return false;
    const { outbox, watermarks } = this.#options;
    // Before the read: what is settled now is in what is read next, or was published earlier.
    const clock = watermarks ? await readClock(this.#client) : null;
    if (clock !== null) this.#settledAt = this.#settled.take(clock) ?? this.#settledAt;
    const { entries, full } = await outbox.read(this.#client, ready, pageLimits);
    const queues = byPartition(entries);
    // With more in the outbox than was read, some of it may be older than what is settled.
    if (clock !== null && !full && this.#settledAt !== null)
      this.#addWatermarks(queues, { ready, settledAt: this.#settledAt, now: clock.at.getTime() });
    for (const entry of entries) if (entry.json === null) await this.#deadLetter(entry.id, entry.problem);
    this.#defer(await this.#publisher.publish(queues));
    return full;
  }

  async #remove(ids: string[]): Promise<void> {
    await this.#options.outbox.remove(this.#client, ids);
    this.#metrics.published.inc(ids.length);
  }

  async #deadLetter(id: string, reason: string): Promise<void> {
    const { outbox, log } = this.#options;
    await outbox.deadLetter(this.#client, id, reason);
    this.#metrics.deadLetters.inc();
    log.error({ outbox_id: id, reason }, "an event can't be published and was moved to the dead letters");
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
      this.#options.log.warn({ err: error, partition }, 'publishing events of a partition failed; retrying');
      this.#deferred.set(partition, monotonicMs() + retryMs);
    }
  }

  async #takeFreePartitions(): Promise<void> {
    if (monotonicMs() < this.#lockAt || this.#owned.length === partitionCount) return;
    this.#lockAt = monotonicMs() + lockEveryMs;
    const free = allPartitions.filter((partition) => !this.#owned.includes(partition));
    const taken = await lockPartitions(this.#client, this.#options.source, free);
    this.#owned = [...this.#owned, ...taken];
  }

  /** Entries of its own partitions. The age is of all: the replica that holds the oldest may hang and report nothing. */
  async #count(): Promise<void> {
    if (monotonicMs() < this.#countAt) return;
    this.#countAt = monotonicMs() + countEveryMs;
    const { outbox } = this.#options;
    const { age, entries } = this.#metrics;
    age.set(await outbox.ageSeconds(this.#client, allPartitions));
    entries.set(await outbox.count(this.#client, this.#owned, mostCounted));
  }

  /** Once an hour. */
  async #deleteOldDeadLetters(): Promise<void> {
    if (monotonicMs() < this.#deleteDeadLettersAt) return;
    this.#deleteDeadLettersAt = monotonicMs() + deleteDeadLettersEveryMs;
    const { outbox, log } = this.#options;
    await outbox.deleteOldDeadLetters(this.#client).catch((error: unknown) => {
      log.warn({ err: error }, 'failed to delete old dead letters; retrying in an hour');
    });
  }

  /** Behind the events of each partition that was read: a watermark is published after everything older. */
  #addWatermarks(
    queues: Map<number, QueuedEvent[]>,
    { ready, settledAt, now }: { ready: readonly number[]; settledAt: Date; now: number },
  ): void {
    if (now - this.#watermarkAt < watermarkEveryMs) return;
    this.#watermarkAt = now;
    const { source } = this.#options;
    const watermark = settledAt.toISOString();
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

function relayMetrics(registry: Registry) {
  const registers = [registry];
  return {
    age: new Gauge({
      name: 'gatehouse_outbox_age_seconds',
      help: 'Age of the oldest event that waits for publication, whichever replica publishes it',
      registers,
    }),
    entries: new Gauge({
      name: 'gatehouse_outbox_entries',
      help: 'Events that wait for publication here, 100,000 at most',
      registers,
    }),
    published: new Counter({
      name: 'gatehouse_events_published_total',
      help: 'Events published, watermarks not counted',
      registers,
    }),
    deadLetters: new Counter({
      name: 'gatehouse_events_unpublishable_total',
      help: "Events that can't be published and were moved to the dead letters of the outbox",
      registers,
    }),
    failures: new Counter({
      name: 'gatehouse_events_publish_failures_total',
      help: 'Failed attempts to read or publish events',
      registers,
    }),
  };
}
