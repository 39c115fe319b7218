import { writeRequestsRefused } from '@gatehouse/events/refused-event';
import { partitionOf } from '@gatehouse/events/partitions';
import type { EventSink, EventText } from '@gatehouse/events/sink';
import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import { publishRefusedMs, refusedDeadlineMs, retryRefusedMs } from '../bounds.ts';
import { unlessAborted } from '@gatehouse/kit/clock';
import { eventSource } from './outbox-system-store.ts';
import { RefusedRequests } from './refused-requests.ts';

/**
 * Publishes counts of refused requests each second. While they can't be published, the counts grow and no memory does:
 * what is under way is sent again with the same ids, and all else is added up. A crash loses the last second of counts.
 */
export class RefusedRequestsPublisher {
  readonly counts = new RefusedRequests();
  readonly #sink: EventSink | null;
  readonly #log: Logger;
  readonly #loop: BackgroundLoop;
  /** Events under way, in order. */
  #events: EventText[] = [];

  /** Without a sink the counts are dropped. The sink is closed by others, after `stop`. */
  constructor({ sink, log }: { sink: EventSink | null; log: Logger }) {
    this.#sink = sink;
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

  /** Events under way come first, under the ids that they had. */
  async #publish(): Promise<void> {
    if (this.#sink !== null) await this.#send(this.#sink);
    if (this.counts.isEmpty) return;
    const now = new Date();
    const entries = this.counts.take();
    if (this.#sink === null) return;
    this.#events = entries.map((some) => writeRequestsRefused(eventSource, now, some));
    await this.#send(this.#sink);
  }

  async #send(sink: EventSink): Promise<void> {
    const signal = AbortSignal.timeout(refusedDeadlineMs);
    for (let event = this.#events[0]; event !== undefined; event = this.#events[0]) {
      const sent = sink.publish([{ partition: partitionOf(event.key), events: [event] }]);
      await unlessAborted(signal, sent);
      this.#events.shift();
    }
  }
}
