import { createHash } from 'node:crypto';
import type { Logger } from '@gatehouse/kit/log';
import { Counter, type Registry } from '@gatehouse/kit/metrics';

/** An event as it came. */
export interface Received {
  /** Where it lay: topic, partition and offset, or the service that sent it. */
  origin: string;
  payload: Buffer;
}

/** An event that could not be taken in. */
export interface DeadLetter extends Received {
  /** Made of origin and payload, so that one that comes again is kept once. */
  id: string;
  reason: string;
}

/** Events that nobody can take in: kept with the reason, so that what comes after them goes on. */
export class DeadLetters {
  readonly #keep: (letter: DeadLetter) => Promise<void>;
  readonly #log: Logger;
  readonly #count: Counter;

  /** `keep` stores a letter once. */
  constructor(options: { keep: (letter: DeadLetter) => Promise<void>; log: Logger; registry: Registry }) {
    this.#keep = options.keep;
    this.#log = options.log;
    this.#count = new Counter({
      name: 'gatehouse_dead_letters_total',
      help: 'Events that could not be read or stored',
      registers: [options.registry],
    });
  }

  async bury({ origin, payload }: Received, reason: string): Promise<void> {
    this.#log.error({ origin, reason }, 'an event could not be taken in');
    this.#count.inc();
    const id = createHash('sha256').update(origin).update(payload).digest('hex').slice(0, 32);
    await this.#keep({ id, origin, reason, payload });
  }
}

/** What the database refused an event for, without the row, which PostgreSQL puts into the detail. */
export function refusalOf(error: unknown): string {
  return `refused by the database: ${(error as Error).message}`;
}
