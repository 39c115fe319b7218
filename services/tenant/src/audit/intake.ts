import { createHash } from 'node:crypto';
import type { AuditEntry } from '@gatehouse/contract/audit';
import { readAuditEvent } from '@gatehouse/events/audit-event';
import type { Logger } from '@gatehouse/kit/log';
import { Counter, type Registry } from '@gatehouse/kit/metrics';
import { isRefusal } from '@gatehouse/pg/errors';
import type { AuditLogSystemStore } from '../store/audit-log-system-store.ts';

/** An event as it came. */
export interface Received {
  /** Where it lay: topic, partition and offset, or the service that sent it. */
  origin: string;
  payload: Buffer;
}

interface Readable {
  received: Received;
  entry: AuditEntry;
}

/** Takes changes that were made in other services into the audit log: exactly once, whatever comes again. */
export class AuditIntake {
  readonly #auditLog: AuditLogSystemStore;
  readonly #log: Logger;
  readonly #deadLetters: Counter;

  constructor(options: { auditLog: AuditLogSystemStore; log: Logger; registry: Registry }) {
    this.#auditLog = options.auditLog;
    this.#log = options.log;
    this.#deadLetters = new Counter({
      name: 'gatehouse_dead_letters_total',
      help: 'Events that could not be read or stored',
      registers: [options.registry],
    });
  }

  /** Resolves when all of it is durable, what nobody can read as dead letters. Throws while there is no database. */
  async take(batch: readonly Received[]): Promise<void> {
    const readable: Readable[] = [];
    for (const received of batch) {
      try {
        const entry = readAuditEvent(received.payload.toString('utf8'));
        if (entry !== null) readable.push({ received, entry });
      } catch (error) {
        await this.#bury(received, (error as Error).message);
      }
    }
    if (readable.length > 0) await this.#store(readable);
  }

  /** All in one transaction, or each alone when the database refuses one of them. */
  async #store(events: readonly Readable[]): Promise<void> {
    try {
      await this.#auditLog.takeIn(events.map(({ entry }) => entry));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const [first, ...others] = events;
      if (first !== undefined && others.length === 0)
        await this.#bury(first.received, `refused by the database: ${(error as Error).message}`);
      else for (const event of events) await this.#store([event]);
    }
  }

  async #bury({ origin, payload }: Received, reason: string): Promise<void> {
    this.#log.error({ origin, reason }, 'a change could not be taken into the audit log');
    this.#deadLetters.inc();
    const id = createHash('sha256').update(origin).update(payload).digest('hex').slice(0, 32);
    await this.#auditLog.insertDeadLetter({ id, origin, reason, payload });
  }
}
