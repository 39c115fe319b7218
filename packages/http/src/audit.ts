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

/** More than an event can carry; that it changed shows in its hash. */
const maxMemberBytes = 8_192;

/** What a tenant tells its models is nobody else's business, and the log is the owner's to read. */
const privateMembers: ReadonlySet<string> = new Set(['system_prompt']);

function withoutBulk(view: object | null): Record<string, unknown> | null {
  if (view === null) return null;
  return Object.fromEntries(
    Object.entries(view).map(([name, member]) => {
      const json = Buffer.from(JSON.stringify(member ?? null));
      const isPrivate = privateMembers.has(name) && member !== '';
      if (json.length <= maxMemberBytes && !isPrivate) return [name, member as unknown];
      const sha256 = createHash('sha256').update(json).digest('hex');
      return [name, { omitted_bytes: json.length, sha256 }];
    }),
  );
}
