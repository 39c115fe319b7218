import { inBatches } from '@gatehouse/events/batches';
import { DeadLetters, refusalOf, type Received } from '@gatehouse/events/dead-letters';
import type { RunEnded, RunStarted } from '@gatehouse/events/run-event';
import type { Logger } from '@gatehouse/kit/log';
import { type Counter, counter, type Registry } from '@gatehouse/kit/metrics';
import { storeBatchThenEach } from '@gatehouse/kit/store-batch';
import type { ForgetStore } from '../forgetting/forget-system-store.ts';
import { lateAfterDays, withoutTexts } from '../retention/trace-ages.ts';
import type { IngestStore } from './ingest-system-store.ts';
import { takeRefusals } from './refusal-consumer.ts';
import { readEvents, type ReadEvents, type RunEvent } from './read-events.ts';

/** The limits of a batch for one statement. */
const storedAtOnce = { items: 1_000, bytes: 2_000_000 };

const bytesOf = (event: Received): number => event.object?.bytes ?? event.payload.length;

export interface UsageConsumerOptions {
  store: IngestStore;
  deletions: Pick<ForgetStore, 'findForgotten'>;
  log: Logger;
  registry: Registry;
}

/** Stores events from Kafka and from RPCs, each exactly once even when it is delivered again. */
export class UsageConsumer {
  readonly #store: IngestStore;
  readonly #deletions: Pick<ForgetStore, 'findForgotten'>;
  readonly #log: Logger;
  readonly #runs: Counter;
  readonly #deadLetters: DeadLetters;
  /** Number of stored events about runs, also repeated ones. */
  stored = 0;

  constructor(options: UsageConsumerOptions) {
    this.#store = options.store;
    this.#deletions = options.deletions;
    this.#log = options.log;
    this.#runs = counter(
      options.registry,
      'gatehouse_events_ingested_total',
      'Events about runs received, including repeated ones',
    );
    this.#deadLetters = new DeadLetters({
      keep: (letter) => options.store.insertDeadLetter(letter),
      ...options,
    });
  }

  /** Resolves once all events are durable. Unreadable events become dead letters. Throws during a database outage. */
  async take(events: readonly Received[]): Promise<void> {
    // In order: a watermark covers the events before it.
    for (const batch of inBatches(events, bytesOf, storedAtOnce)) await this.#takeBatch(batch);
  }

  async #takeBatch(batch: readonly Received[]): Promise<void> {
    const { runs, corrections, watermarks, refusals, rejected } = readEvents(batch);
    for (const { received, reason } of rejected) await this.#deadLetters.add(received, reason);
    // Before the watermarks.
    await this.#correct(corrections);
    await this.#storeRuns(runs, watermarks);
    await takeRefusals(refusals, {
      store: this.#store,
      deletions: this.#deletions,
      deadLetters: this.#deadLetters,
    });
    this.#runs.inc(runs.length + corrections.length);
    this.stored += runs.length + corrections.length;
    // Two calls per run: builds the log fields only when they are written.
    if (!this.#log.isLevelEnabled('debug')) return;
    for (const { run } of runs)
      this.#log.debug(
        { request_id: run.request_id, trace_id: run.trace_id, run_id: run.run_id, tenant_id: run.tenant_id },
        'ended_at' in run ? 'stored the end of a run' : 'stored the start of a run',
      );
  }

  /** Stores all in one transaction, or each alone when the database rejects one of them; watermarks after the runs. */
  async #storeRuns(events: readonly RunEvent[], watermarks: ReadEvents['watermarks']): Promise<void> {
    let stored = watermarks.length === 0;
    if (events.length > 0) {
      await storeBatchThenEach(events, {
        store: async (some) => {
          const all = some.length === events.length;
          const withWatermarks = await this.#insert(some, all ? watermarks : []);
          stored ||= all && withWatermarks;
        },
        isRefusal: (error) => this.#store.isRefusal(error),
        refuse: (event, error) => this.#refuse(event, error),
      });
    }
    if (!stored) await this.#insert([], watermarks);
  }

  /** Stores exact ends, also of runs with an estimated one: all in one transaction, or each alone. */
  async #correct(corrections: readonly RunEvent<RunEnded>[]): Promise<void> {
    if (corrections.length === 0) return;
    await storeBatchThenEach(corrections, {
      store: async (some) => {
        const events = await this.#withoutForgotten(some);
        const late = await this.#store.correctEnds(events.map(({ run }) => run));
        await this.#deadLetterLate(events, late);
      },
      isRefusal: (error) => this.#store.isRefusal(error),
      refuse: (event, error) => this.#refuse(event, error),
    });
  }

  async #refuse(event: RunEvent, error: unknown): Promise<void> {
    const [remaining] = await this.#withoutForgotten([event]);
    await this.#deadLetters.add((remaining ?? event).received, refusalOf(error));
  }

  /** Returns whether the watermarks were stored too: they are not when some of the events come too late. */
  async #insert(received: readonly RunEvent[], watermarks: ReadEvents['watermarks']): Promise<boolean> {
    const events = await this.#withoutForgotten(received);
    const runs = events.map(({ run }) => run);
    const late = await this.#store.insertIntake({ runs, watermarks });
    if (late.length === 0) return true;
    await this.#storeLate(events.filter(({ run }) => late.includes(run.run_id)));
    return false;
  }

  /** Events lose the user, the session and all texts if the user's data were deleted after the run began. */
  async #withoutForgotten<Run extends RunStarted | RunEnded>(
    events: readonly RunEvent<Run>[],
  ): Promise<readonly RunEvent<Run>[]> {
    const forgotten = await this.#deletions.findForgotten(events.map(({ run }) => run));
    if (forgotten.size === 0) return events;
    return events.map((event) => {
      if (!forgotten.has(event.run.run_id)) return event;
      const run = { ...withoutTexts(event.run), user_id: null, session_id: null };
      // Without an object of the event, which has the texts.
      const { origin } = event.received;
      return { run, received: { origin, payload: Buffer.from(JSON.stringify(run)) } };
    });
  }

  /** `retention/trace-ages.ts` explains why late runs get no row. */
  async #storeLate(runs: readonly RunEvent[]): Promise<void> {
    await this.#deadLetterLate(runs, await this.#store.endLateRuns(runs.map(({ run }) => run)));
  }

  async #deadLetterLate(events: readonly RunEvent[], lost: readonly string[]): Promise<void> {
    for (const { received, run } of events.filter(({ run: { run_id: id } }) => lost.includes(id))) {
      const payload = Buffer.from(JSON.stringify(withoutTexts(run)));
      await this.#deadLetters.add(
        { origin: received.origin, payload },
        `too late: the run is older than ${lateAfterDays} days`,
      );
    }
  }
}
