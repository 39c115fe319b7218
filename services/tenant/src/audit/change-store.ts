import { topics } from '@gatehouse/contract/services';
import type { RecordChange } from '@gatehouse/audited-changes/changes';
import { kafkaPlace } from '@gatehouse/events/settings';
import type { AuditOutbox } from '@gatehouse/events/store/audit-outbox-store';
import { insertEntry } from './audit-log-system-store.ts';

/** Writes changes of this service to the audit log and, with Kafka, to the outbox. */
export function changeRecorder(
  config: Parameters<typeof kafkaPlace>[0],
  outbox: Pick<AuditOutbox, 'add'>,
): RecordChange {
  if (kafkaPlace(config, topics.audit) === null) return insertEntry;
  return async (db, entry) => {
    await insertEntry(db, entry);
    await outbox.add(db, entry);
  };
}
