import { auditEntry, type AuditEntry } from '@gatehouse/contract/audit';
import { z } from 'zod';
import { parseShape, readEvent, writeEvent } from './cloud-event.ts';

/** An administrative change, as the service that made it tells it and tenant writes it down (`gatehouse.audit.v1`). */

/** Before it comes the operator's prefix. */
export const auditTopic = 'gatehouse.audit.v1';
export const auditRecorded = 'gatehouse.audit.recorded';

/** What later releases add is passed over. */
const auditRecordedData = z.object(auditEntry.shape);

export function writeAuditEvent(source: string, entry: AuditEntry): string {
  return writeEvent({
    id: entry.id,
    source,
    type: auditRecorded,
    time: entry.at,
    subject: `${entry.resource.type}/${entry.resource.id}`,
    partitionkey: auditKey(entry.tenant_id),
    data: entry,
  });
}

/** The entry of an event; null for an event of another type. Throws with the reason when it can't be read. */
export function readAuditEvent(text: string): AuditEntry | null {
  const event = readEvent(text);
  return event.type === auditRecorded ? parseShape(auditRecordedData, event.data, 'not a change') : null;
}

/** Whose entries keep their order: a tenant's, and those of no tenant. */
export function auditKey(tenantId: string | null): string {
  return tenantId ?? 'owner';
}
