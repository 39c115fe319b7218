import { Changes } from '@gatehouse/audited-changes/changes';
import { topics } from '@gatehouse/contract/services';
import { readAuditEvent } from '@gatehouse/events/audit-event';
import { EventIntake } from '@gatehouse/events/intake';
import { AuditOutbox } from '@gatehouse/events/store/audit-outbox-store';
import { publishOutbox } from '@gatehouse/shell/outbox-publisher';
import type { Shell } from '@gatehouse/shell/shell';
import { consumeTopic } from '@gatehouse/shell/topic-consumer';
import { auditExportHandlers } from './audit-export-handlers.ts';
import { auditLogHandlers } from './audit-log-handlers.ts';
import { AuditLogSystemStore } from './audit-log-system-store.ts';
import { auditRetention } from './audit-retention-job.ts';
import { changeRecorder } from './change-store.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';

/** The audit log of all services, and what executes the administrative changes of this one. */
export function createAudit(
  shell: Shell,
  { config, app, system }: Pick<BaseDependencies, 'config' | 'app' | 'system'>,
) {
  const { log, registry } = shell;
  const entries = new AuditLogSystemStore(system);
  const outbox = new AuditOutbox('tenant');
  const recordChange = changeRecorder(config, outbox);
  const intake = new EventIntake({
    read: readAuditEvent,
    store: (some) => entries.takeIn(some),
    keep: (letter) => entries.insertDeadLetter(letter),
    log,
    registry,
  });
  // Entries of this service are in the log already, so they are skipped when they come back from Kafka.
  publishOutbox(shell, { source: outbox.source, outbox, config, topic: topics.audit, watermarks: false });
  consumeTopic(shell, { topic: topics.audit, config, take: (events) => intake.take(events) });
  const keyRing = config.SECRETS_KEYRING;
  const changes = new Changes({ service: 'tenant', app, system, keyRing, record: recordChange, log });
  const logs = { auditLog: entries, app };
  return {
    handlers: auditLogHandlers(logs),
    rawHandlers: auditExportHandlers(logs),
    parts: [auditRetention({ system, log, days: config.AUDIT_RETENTION_DAYS })],
    ...{ recordChange, changes },
  };
}
