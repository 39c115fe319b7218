import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import { unlessAborted } from '@gatehouse/kit/clock';
import { partitionOf } from './partitions.ts';
import { writeRequestsRefused, type RefusedEntry } from './refused-event.ts';
import { firstEntries, RefusedRequests } from './refused-requests.ts';
import type { EventSink, EventText } from './sink.ts';

/** Counts are published so often, and may be lost in a crash for so long. */
const publishRefusedMs = 1_000;
/** The pause after a failed publication, and the longest one. */
const retryRefusedMs = 5_000;
const refusedDeadlineMs = 10_000;

export interface RefusedRequestsPublisherOptions {
  /** Null: the counts are dropped. It is closed by others, after `stop`. */
  sink: EventSink | null;
  /** The `source` of the events. */
  source: string;
  log: Logger;
}

/**
 * Publishes counts of refused requests each second. While they can't be published, the counts grow and memory is bounded:
 * the event under way is sent again with the same id, and requests are added up. A crash loses the last second of counts.
 */
export class RefusedRequestsPublisher {
  readonly counts = new RefusedRequests();
  readonly #sink: EventSink | null;
  readonly #source: string;
  readonly #log: Logger;
  readonly #loop: BackgroundLoop;
  /** Entries to send, from `#next` on. */
  #entries: readonly RefusedEntry[] = [];
  #next = 0;
  /** The event under way. */
  #event: (EventText & { end: number }) | null = null;

  constructor({ sink, source, log }: RefusedRequestsPublisherOptions) {
    this.#sink = sink;
    this.#source = source;
    this.#log = log;
    this.#loop = new BackgroundLoop(
      async () => {
        await this.#publish();
        return publishRefusedMs;
      },
      {
        pauseMs: retryRefusedMs,
        report: (error) => log.warn({ err: error }, 'failed to publish counts of refused requests'),
      },
    );
  }

  start(): void {
    this.#loop.start(publishRefusedMs);
  }

  /** Publishes what is left. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#publish().catch((error: unknown) =>
      this.#log.warn({ err: error }, 'lost counts of refused requests'),
    );
  }

  /** Entries taken earlier come first. */
  async #publish(): Promise<void> {
    if (this.#sink !== null) await this.#send(this.#sink);
    if (this.counts.isEmpty) return;
    const entries = this.counts.take();
    if (this.#sink === null) return;
    this.#entries = entries;
    this.#next = 0;
    await this.#send(this.#sink);
  }

  /** Writes each event just before it is sent: to write all of them would hold the event loop. */
  async #send(sink: EventSink): Promise<void> {
    const signal = AbortSignal.timeout(refusedDeadlineMs);
    while (this.#next < this.#entries.length) {
      const { end, ...event } = (this.#event ??= this.#nextEvent());
      const sent = sink.publish([{ partition: partitionOf(event.key), events: [event] }]);
      await unlessAborted(signal, sent);
      this.#event = null;
      this.#next = end;
    }
    this.#entries = [];
    this.#next = 0;
  }

  #nextEvent(): EventText & { end: number } {
    const entries = firstEntries(this.#entries, this.#next);
    return { ...writeRequestsRefused(this.#source, new Date(), entries), end: this.#next + entries.length };
  }
}
