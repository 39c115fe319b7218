import { Changes } from '@gatehouse/audited-changes/changes';
import { readAuditEvent } from '@gatehouse/events/audit-event';
import { EventIntake } from '@gatehouse/events/intake';
import { AuditOutbox } from '@gatehouse/events/store/audit-outbox-store';
import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import type { TenantConfig } from '../config.ts';
import { auditExportHandlers } from './audit-export-handlers.ts';
import { auditLogHandlers } from './audit-log-handlers.ts';
import { AuditLogSystemStore } from './audit-log-system-store.ts';
import { auditRetention } from './audit-retention-job.ts';
import { shareAuditTopic } from './audit-consumer.ts';
import { changeRecorder } from './change-store.ts';
import { TenantAuditLogStore } from './tenant-audit-log-store.ts';

export interface AuditOptions {
  config: TenantConfig;
  app: Pool;
  system: Pool;
}

/** The audit log of all services, and what executes the administrative changes of this one. */
export function createAudit(shell: Shell, { config, app, system }: AuditOptions) {
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
  shareAuditTopic(shell, { config, outbox, intake });
  const keyRing = config.SECRETS_KEYRING;
  const changes = new Changes({ service: 'tenant', app, system, keyRing, record: recordChange, log });
  const logs = { auditLog: entries, tenantLog: new TenantAuditLogStore(app) };
  return {
    handlers: auditLogHandlers(logs),
    rawHandlers: auditExportHandlers(logs),
    parts: [auditRetention({ system, log, days: config.AUDIT_RETENTION_DAYS })],
    ...{ recordChange, changes },
  };
}
