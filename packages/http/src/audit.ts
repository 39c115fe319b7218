import { createHash } from 'node:crypto';
import type { AuditAction, AuditEntry, NewAuditEntry } from '@gatehouse/contract/audit';
import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';

/** An administrative change, told in public views: what holds a secret must not be in them. */
export interface Change {
  action: AuditAction;
  /** Of the resource. */
  id: string;
  /** Whose resource it is. Default: the caller's tenant. */
  tenantId?: string | null;
  /** Null for what was created. */
  before: object | null;
  /** Null for what was deleted. */
  after: object | null;
}

/** Writes an entry down in the transaction of the change. */
export type RecordChange = (db: Queryable, entry: NewAuditEntry) => Promise<void>;

/** Who made a change, and in which request. */
export interface Circumstances {
  actor: AuditEntry['actor'];
  tenantId: string | null;
  clientIp: string | null;
  requestId: string | null;
}

export function auditEntryOf(change: Change, by: Circumstances): NewAuditEntry {
  const { action, id, tenantId = by.tenantId, before, after } = change;
  return {
    id: newId(),
    action,
    actor: by.actor,
    tenant_id: tenantId,
    resource: { type: action.slice(0, action.indexOf('.')), id },
    client_ip: by.clientIp,
    request_id: by.requestId,
    before: withoutBulk(before),
    after: withoutBulk(after),
  };
}

/** A prompt may hold more than an event can carry; that it changed shows in its hash. */
const maxMemberBytes = 8_192;

function withoutBulk(view: object | null): Record<string, unknown> | null {
  if (view === null) return null;
  return Object.fromEntries(
    Object.entries(view).map(([name, member]) => {
      const json = Buffer.from(JSON.stringify(member ?? null));
      if (json.length <= maxMemberBytes) return [name, member as unknown];
      const sha256 = createHash('sha256').update(json).digest('hex');
      return [name, { omitted_bytes: json.length, sha256 }];
    }),
  );
}
