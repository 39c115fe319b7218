import type { Logger } from '@gatehouse/kit/log';
import type { Registry } from '@gatehouse/kit/metrics';
import { storeBatchThenEach } from '@gatehouse/kit/store-batch';
import { isRefusal } from '@gatehouse/pg/errors';
import { DeadLetters, refusalOf, type DeadLetter, type Received } from './dead-letters.ts';

export interface EventIntakeOptions<Entry> {
  /** Returns the entry of an event; null for one to skip. Throws with the reason when the event is invalid. */
  read: (text: string) => Entry | null;
  /** Stores the entries atomically; an already stored one is no error. */
  store: (entries: readonly Entry[]) => Promise<void>;
  /** Must be idempotent by the id of the letter. */
  keep: (letter: DeadLetter) => Promise<void>;
  log: Logger;
  registry: Registry;
}

/** Takes events from Kafka and from RPCs, each exactly once even when it is delivered again. */
export class EventIntake<Entry> {
  readonly #options: EventIntakeOptions<Entry>;
  readonly #deadLetters: DeadLetters;

  constructor(options: EventIntakeOptions<Entry>) {
    this.#options = options;
    this.#deadLetters = new DeadLetters(options);
  }

  /** Resolves once all events are durable. Unreadable ones become dead letters. Throws during a database outage. */
  async take(batch: readonly Received[]): Promise<void> {
    const { read, store } = this.#options;
    const readable: { received: Received; entry: Entry }[] = [];
    for (const received of batch) {
      try {
        const entry = read(received.payload.toString('utf8'));
        if (entry !== null) readable.push({ received, entry });
      } catch (error) {
        await this.#deadLetters.add(received, (error as Error).message);
      }
    }
    if (readable.length === 0) return;
    await storeBatchThenEach(readable, {
      store: (events) => store(events.map(({ entry }) => entry)),
      isRefusal,
      refuse: ({ received }, error) => this.#deadLetters.add(received, refusalOf(error)),
    });
  }
}
