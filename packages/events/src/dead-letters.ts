import { createHash } from 'node:crypto';
import type { Logger } from '@gatehouse/kit/log';
import { type Counter, counter, type Registry } from '@gatehouse/kit/metrics';
import type { EventObject } from './sink.ts';

/** An event as received. */
export interface Received {
  /** Topic, partition and offset; or the sending service. */
  origin: string;
  payload: Buffer;
  /** Whether the code of this process has just written it, by the shapes of its reader. */
  isChecked?: boolean;
  /** The event itself, if its publisher runs in this process and has passed it. Not to be written to. */
  object?: EventObject;
}

/** An event passed as an object: its payload is made when it is read, for a dead letter. */
export class ReceivedObject implements Received {
  readonly origin: string;
  readonly object: EventObject;
  readonly isChecked = true;

  constructor(origin: string, object: EventObject) {
    this.origin = origin;
    this.object = object;
  }

  get payload(): Buffer {
    return Buffer.from(this.object.json);
  }
}

/**
 * Resolves once all events are durable; must take an event again without harm. Throws during an outage. `caller`: the
 * service sending them without Kafka.
 */
export type TakeEvents = (events: readonly Received[], caller?: string) => Promise<void>;

/** An unreadable or refused event. */
export interface DeadLetter extends Received {
  /** A hash of origin and payload, so a redelivered event is stored once. */
  id: string;
  reason: string;
}

/** Stores unreadable and refused events, with the reason, so later events are not blocked. */
export class DeadLetters {
  readonly #keep: (letter: DeadLetter) => Promise<void>;
  readonly #log: Logger;
  readonly #count: Counter;

  /** `keep` must be idempotent by `id`. */
  constructor(options: { keep: (letter: DeadLetter) => Promise<void>; log: Logger; registry: Registry }) {
    this.#keep = options.keep;
    this.#log = options.log;
    this.#count = counter(
      options.registry,
      'gatehouse_dead_letters_total',
      'Events that could not be read or stored',
    );
  }

  async add({ origin, payload }: Received, reason: string): Promise<void> {
    this.#log.error({ origin, reason }, 'failed to read or store an event; moved it to the dead letters');
    this.#count.inc();
    const id = createHash('sha256').update(origin).update(payload).digest('hex').slice(0, 32);
    await this.#keep({ id, origin, reason, payload });
  }
}

/** The reason for which the database rejected an event, without the row, which PostgreSQL puts into the detail. */
export function refusalOf(error: unknown): string {
  return `rejected by the database: ${(error as Error).message}`;
}
