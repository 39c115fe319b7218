import { createHash } from 'node:crypto';
import type { AuditAction, AuditEntry, NewAuditEntry } from '@gatehouse/contract/audit';
import { newId } from '@gatehouse/kit/ids';

/** What an administrative change did, as public views of the resource: they must hold no secret. */
export interface Change {
  action: AuditAction;
  /** Of the resource. */
  id: string;
  /** The tenant of the resource. Default: the caller's. */
  tenantId?: string | null;
  /** Null for what was created. */
  before: object | null;
  /** Null for what was deleted. */
  after: object | null;
}

/** Who made a change, and in which request. */
export interface Circumstances {
  actor: AuditEntry['actor'];
  tenantId: string | null;
  clientIp: string | null;
  requestId: string | null;
}

/** The entry of the audit log for a change. */
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

/** A larger member is replaced by its hash, which still shows that it changed. */
const maxMemberBytes = 8_192;

/** Private to the tenant, while the owner reads the log. */
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
