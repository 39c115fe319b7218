import { sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { Counter, Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { Pool, PoolClient } from '@gatehouse/pg/pool';
import type { Outbox, OutboxEntry } from './outbox.ts';
import { partitionCount } from './partitions.ts';
import { lockPartitions, readClock, type ClockReading } from './store/relay-store.ts';
import { SettledTime } from './settled-time.ts';
import type { EventSink, PartitionBatch } from './sink.ts';
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
const batchSize = 500;
const idleMs = 100;
const retryMs = 1_000;
const lockEveryMs = 2_000;
const watermarkEveryMs = 1_000;
const countEveryMs = 5_000;
/** Beyond, what matters is the age. */
const mostCounted = 100_000;

/**
 * Publishes an outbox in order, at least once. Every replica runs one; each partition is published by the one that
 * holds its lock, and by another as soon as that one's database session ends.
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
  readonly #settled = new SettledTime();
  #owned: number[] = [];
  #lockAt = 0;
  #watermarkAt = 0;
  #countAt = 0;
  #settledAt: Date | null = null;

  constructor(options: RelayOptions, metrics: ReturnType<typeof relayMetrics>, client: PoolClient) {
    this.#options = options;
    this.#metrics = metrics;
    this.#client = client;
  }

  /** Publishes one batch. True when there is probably more. */
  async turn(): Promise<boolean> {
    await this.#takeFreePartitions();
    await this.#count();
    if (this.#owned.length === 0) return false;
    const { outbox, watermarks } = this.#options;
    // Before the read: what is settled now is in what is read next, or was published earlier.
    const clock = watermarks ? await readClock(this.#client) : null;
    if (clock !== null) this.#settledAt = this.#settled.take(clock) ?? this.#settledAt;
    const entries = await outbox.read(this.#client, this.#owned, batchSize);
    const full = entries.length === batchSize;
    const batches = byPartition(entries);
    await this.#noteAge(entries[0], clock);
    // With more in the outbox than was read, some of it may be older than what is settled.
    if (clock !== null && !full && this.#settledAt !== null)
      this.#addWatermarks(batches, this.#settledAt, clock.at.getTime());
    if (batches.size > 0) await this.#options.sink.publish([...batches.values()]);
    if (entries.length > 0)
      await outbox.remove(
        this.#client,
        entries.map(({ id }) => id),
      );
    this.#metrics.published.inc(entries.length);
    return full;
  }

  async #noteAge(oldest: OutboxEntry | undefined, known: ClockReading | null): Promise<void> {
    const { age } = this.#metrics;
    if (oldest === undefined) age.set(0);
    else {
      const { at } = known ?? (await readClock(this.#client));
      age.set((at.getTime() - oldest.occurredAt.getTime()) / 1_000);
    }
  }

  async #takeFreePartitions(): Promise<void> {
    if (performance.now() < this.#lockAt || this.#owned.length === partitionCount) return;
    this.#lockAt = performance.now() + lockEveryMs;
    const free = allPartitions.filter((partition) => !this.#owned.includes(partition));
    const taken = await lockPartitions(this.#client, this.#options.source, free);
    this.#owned = [...this.#owned, ...taken];
  }

  /** Zero where another replica publishes: what this one knew is no longer true. */
  async #count(): Promise<void> {
    if (performance.now() < this.#countAt) return;
    this.#countAt = performance.now() + countEveryMs;
    const { age, entries } = this.#metrics;
    if (this.#owned.length === 0) age.set(0);
    entries.set(await this.#options.outbox.count(this.#client, this.#owned, mostCounted));
  }

  #addWatermarks(batches: Map<number, MutableBatch>, settledAt: Date, now: number): void {
    if (now - this.#watermarkAt < watermarkEveryMs) return;
    this.#watermarkAt = now;
    for (const partition of this.#owned) {
      const watermark = settledAt.toISOString();
      const json = writeWatermark(this.#options.source, { partition, partitions: partitionCount, watermark });
      batchOf(batches, partition).events.push({ key: this.#options.source, json });
    }
  }
}

type MutableBatch = PartitionBatch & { events: { key: string; json: string }[] };

function byPartition(entries: readonly OutboxEntry[]): Map<number, MutableBatch> {
  const batches = new Map<number, MutableBatch>();
  for (const { partition, key, json } of entries) batchOf(batches, partition).events.push({ key, json });
  return batches;
}

function batchOf(batches: Map<number, MutableBatch>, partition: number): MutableBatch {
  const known = batches.get(partition);
  if (known !== undefined) return known;
  const batch: MutableBatch = { partition, events: [] };
  batches.set(partition, batch);
  return batch;
}

function relayMetrics(registry: Registry) {
  const registers = [registry];
  return {
    age: new Gauge({
      name: 'gatehouse_outbox_age_seconds',
      help: 'Age of the oldest event that waits for publication here',
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
    failures: new Counter({
      name: 'gatehouse_events_publish_failures_total',
      help: 'Failed attempts to read or publish events',
      registers,
    }),
  };
}
