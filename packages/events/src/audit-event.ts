import { auditEntry, type AuditEntry } from '@gatehouse/contract/audit';
import { z } from 'zod';
import { parseShape, readEvent, writeEvent } from './cloud-event.ts';

/**
 * Events about administrative changes (`gatehouse.audit.v1`): a service publishes them and the tenant service stores
 * them.
 */

export const auditRecorded = 'gatehouse.audit.recorded';

/** Ignores members added by later releases. */
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

/**
 * Returns the entry of an event, or null for an event of another type. Throws with the reason when the event is
 * invalid.
 */
export function readAuditEvent(text: string): AuditEntry | null {
  const event = readEvent(text);
  return event.type === auditRecorded ? parseShape(auditRecordedData, event.data, 'not a change') : null;
}

/** The partition key. Entries of one tenant keep their order, and so do entries without a tenant. */
export function auditKey(tenantId: string | null): string {
  return tenantId ?? 'owner';
}
