import type { NewAuditEntry } from '@gatehouse/contract/audit';
import { auditKey, writeAuditEvent } from '../audit-event.ts';
import { EntryOutbox } from './entry-outbox.ts';

/** The table `audit_outbox` of a service: administrative changes to publish. */
export class AuditOutbox extends EntryOutbox<NewAuditEntry> {
  constructor(service: string, source = `gatehouse/${service}`) {
    super({
      table: `${service}.audit_outbox`,
      source,
      keyOf: auditKey,
      write: writeAuditEvent,
    });
  }
}
