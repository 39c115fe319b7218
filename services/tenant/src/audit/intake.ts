import type { AuditEntry } from '@gatehouse/contract/audit';
import { readAuditEvent } from '@gatehouse/events/audit-event';
import { DeadLetters, refusalOf, type Received } from '@gatehouse/events/dead-letters';
import type { Logger } from '@gatehouse/kit/log';
import type { Registry } from '@gatehouse/kit/metrics';
import { togetherOrAlone } from '@gatehouse/kit/together-or-alone';
import { isRefusal } from '@gatehouse/pg/errors';
import type { AuditLogSystemStore } from '../store/audit-log-system-store.ts';

interface Readable {
  received: Received;
  entry: AuditEntry;
}

/** Stores changes of other services in the audit log, each exactly once even when it is delivered again. */
export class AuditIntake {
  readonly #auditLog: AuditLogSystemStore;
  readonly #deadLetters: DeadLetters;

  constructor(options: { auditLog: AuditLogSystemStore; log: Logger; registry: Registry }) {
    this.#auditLog = options.auditLog;
    const { auditLog } = options;
    this.#deadLetters = new DeadLetters({
      keep: (letter) => auditLog.insertDeadLetter(letter),
      ...options,
    });
  }

  /** Resolves once all changes are durable. Unreadable ones become dead letters. Throws during a database outage. */
  async take(batch: readonly Received[]): Promise<void> {
    const readable: Readable[] = [];
    for (const received of batch) {
      try {
        const entry = readAuditEvent(received.payload.toString('utf8'));
        if (entry !== null) readable.push({ received, entry });
      } catch (error) {
        await this.#deadLetters.bury(received, (error as Error).message);
      }
    }
    if (readable.length === 0) return;
    await togetherOrAlone(readable, {
      store: (events) => this.#auditLog.takeIn(events.map(({ entry }) => entry)),
      isRefusal,
      refuse: ({ received }, error) => this.#deadLetters.bury(received, refusalOf(error)),
    });
  }
}
