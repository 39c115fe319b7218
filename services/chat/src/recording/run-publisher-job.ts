import { longPauseMs, manyEvents, shortPauseMs } from '@gatehouse/events/outbox-relay';
import { inBatches } from '@gatehouse/events/batches';
import { maxEventBytes } from '@gatehouse/events/cloud-event';
import { partitionOf } from '@gatehouse/events/partitions';
import { relayMetrics } from '@gatehouse/events/relay-metrics';
import { RunEndObject, writeRunEvent } from '@gatehouse/events/run-event';
import type { EventObject, EventSink, EventText, PartitionBatch } from '@gatehouse/events/sink';
import { monotonicMs, sleep, unlessAborted } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import type { Registry } from '@gatehouse/kit/metrics';
import type { WaitingEvent } from './end-parts-system-store.ts';
import type { PublishedRow } from './log-group-store.ts';
import type { LoggedRun } from './logged-run.ts';
import { eventSource } from './outbox-system-store.ts';
import { longestUnpublishedMs, shortRetryMs, writtenAtOnce } from '../bounds.ts';

/** Limits of one publication. */
const limits = { items: 500, bytes: 500_000 };
/** Beyond these, events go to the outbox. */
const most = { events: 5_000, bytes: 8_000_000 };

/** Characters. A longer one may be too large for an event, which the outbox keeps as a dead letter. */
const longestData = maxEventBytes / 4;

interface Written {
  event: EventText | EventObject;
  bytes: number;
}

/**
 * Publishes events of committed ends straight from memory, as long as it works. Unpublished events go to the outbox,
 * whose relay has all the patience, and so does everything until a publication works again.
 */
export class RunPublisher {
  readonly #sink: EventSink | null;
  readonly #log: Logger;
  readonly #metrics: ReturnType<typeof relayMetrics>;
  readonly #stopping = new AbortController();
  readonly #queue: PublishedRow[] = [];
  #size = { events: 0, bytes: 0 };
  #woken = Promise.withResolvers<undefined>();
  #running: Promise<void> = Promise.resolve();
  /** `probing`: one row at a time, until one is published. */
  #state: 'closed' | 'probing' | 'open' = 'closed';

  /** Without a sink, nothing is published from here. */
  constructor(options: { sink: EventSink | null; log: Logger; registry: Registry }) {
    this.#sink = options.sink;
    this.#log = options.log;
    this.#metrics = relayMetrics(options.registry, 'run_log');
  }

  /** Whether it takes events now. */
  get isOpen(): boolean {
    return this.#state === 'open' || (this.#state === 'probing' && this.#size.events === 0);
  }

  /** Whether events may pass as objects, which are in memory beside their texts until then. */
  get takesObjects(): boolean {
    return this.#sink?.takesObjects === true;
  }

  push(row: PublishedRow): void {
    // An object takes about as much as its text.
    const mostBytes = this.takesObjects ? most.bytes / 2 : most.bytes;
    const isFull = this.#size.events > most.events || this.#size.bytes > mostBytes;
    if (!this.isOpen || isFull || row.events.some(({ data }) => data.length > longestData)) {
      row.log.spill(row);
      return;
    }
    this.#queue.push(row);
    this.#size.events += row.events.length;
    this.#size.bytes += bytesOf(row);
    this.#woken.resolve(undefined);
  }

  start(): void {
    if (this.#sink !== null) this.#running = this.#run(this.#sink);
  }

  /** Publishes what waits, and takes nothing more. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#woken.resolve(undefined);
    await this.#running;
    await this.#sink?.close();
  }

  async #run(sink: EventSink): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      if (this.#state === 'closed' && !signal.aborted && (await this.#reaches(sink))) this.#state = 'probing';
      const count = await this.#publish(sink);
      if (signal.aborted && this.#queue.length === 0) {
        this.#state = 'closed';
        return;
      }
      if (this.#state === 'closed') await sleep(shortRetryMs, signal).catch(() => undefined);
      else if (count === 0) await this.#woken.promise;
      else await sleep(count >= manyEvents ? longPauseMs : shortPauseMs, signal).catch(() => undefined);
    }
  }

  async #reaches(sink: EventSink): Promise<boolean> {
    return sink.publish([]).then(
      () => true,
      () => false,
    );
  }

  /** The oldest of what waits. Returns the number of events. */
  async #publish(sink: EventSink): Promise<number> {
    const rows = this.#takeRows();
    const near = this.takesObjects;
    const events = rows.flatMap((row) =>
      row.events.map((event, index) => written(event, near ? row.runs[index] : undefined)),
    );
    if (events.length > 0) await this.#send(sink, rows, events);
    // Everything taken has gone, to the sink or to the outbox.
    this.#size = sizeOf(this.#queue);
    return events.length;
  }

  /** If the sink takes a batch after all, it is published twice: consumers count the first end of a run. */
  async #send(sink: EventSink, rows: readonly PublishedRow[], events: readonly Written[]): Promise<void> {
    const signal = AbortSignal.timeout(longestUnpublishedMs);
    try {
      await unlessAborted(signal, publishAll(sink, events, signal));
      this.#metrics.published.inc(events.length);
      for (const row of rows) row.log.published(row);
      if (this.#state === 'probing') this.#state = 'open';
    } catch (error) {
      this.#metrics.failures.inc();
      this.#log.warn(
        { err: error, events: events.length },
        'failed to publish events of runs; the outbox will',
      );
      this.#state = 'closed';
      for (const row of [...rows, ...this.#queue.splice(0)]) row.log.spill(row);
    }
  }

  /** Rows go to the outbox after too long a wait. Deletions of users find them there. */
  #takeRows(): PublishedRow[] {
    this.#woken = Promise.withResolvers();
    const rows: PublishedRow[] = [];
    const oldest = monotonicMs() - longestUnpublishedMs;
    for (let events = 0; events < writtenAtOnce;) {
      const row = this.#queue.shift();
      if (row === undefined) break;
      if (row.since < oldest) {
        row.log.spill(row);
        continue;
      }
      rows.push(row);
      events += row.events.length;
    }
    return rows;
  }
}

/** Stops before the next batch once the signal aborts. */
async function publishAll(sink: EventSink, events: readonly Written[], signal: AbortSignal): Promise<void> {
  for (const batch of inBatches(events, ({ bytes }) => bytes, limits)) {
    signal.throwIfAborted();
    await sink.publish(byPartition(batch), { isFresh: true });
  }
}

function sizeOf(rows: readonly PublishedRow[]): { events: number; bytes: number } {
  const size = { events: 0, bytes: 0 };
  for (const row of rows) {
    size.events += row.events.length;
    size.bytes += bytesOf(row);
  }
  return size;
}

function bytesOf({ events }: PublishedRow): number {
  return events.reduce((sum, { data }) => sum + data.length, 0);
}

/** `run`: of an event that may pass as an object. */
function written({ runId, tenantId, startedAt, endedAt, data }: WaitingEvent, run?: LoggedRun): Written {
  const fields = { runId, tenantId, startedAt, endedAt, corrects: false, data };
  const ended = endedAt === null ? null : (run?.ended(startedAt, endedAt) ?? null);
  if (ended !== null) return { event: new RunEndObject(eventSource, fields, ended), bytes: data.length };
  const json = writeRunEvent(eventSource, fields);
  return { event: { key: tenantId, json }, bytes: json.length };
}

function byPartition(events: readonly Written[]): PartitionBatch[] {
  const batches = new Map<number, (EventText | EventObject)[]>();
  for (const { event } of events) {
    const partition = partitionOf(event.key);
    const batch = batches.get(partition);
    if (batch === undefined) batches.set(partition, [event]);
    else batch.push(event);
  }
  return [...batches].map(([partition, batch]) => ({ partition, events: batch }));
}
