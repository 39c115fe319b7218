import type { AuditEntry } from '@gatehouse/contract/audit';
import type { PageRequest, PageRows } from '@gatehouse/kit/page';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';

export interface AuditFilter extends PageRequest {
  tenantId: string | null;
  /** Id of an API key. */
  actor: string | null;
  action: string | null;
  /** Inclusive. */
  from: string | null;
  /** Exclusive. */
  to: string | null;
}

/** A stored entry. */
export type StoredEntry = Omit<AuditEntry, 'at'> & { at: Date };

/** Newest first. Entries are deleted by whole months, so the id of an entry is a stable cursor. */
export async function readEntries(db: Queryable, filter: AuditFilter): Promise<PageRows<StoredEntry>> {
  return readPage<StoredEntry>(db, {
    columns: `id, at, action,
       json_build_object('key_id', actor_key_id, 'role', actor_role, 'user_id', actor_user_id) as actor,
       tenant_id, json_build_object('type', resource_type, 'id', resource_id) as resource,
       client_ip, request_id, before, after`,
    from: `tenant.audit_log
     where ($1::uuid is null or tenant_id = $1)
       and ($2::uuid is null or actor_key_id = $2)
       and ($3::text is null or action = $3)
       and ($4::timestamptz is null or at >= $4)
       and ($5::timestamptz is null or at < $5)
       and ($6::uuid is null or (at, id) < (select at, id from tenant.audit_log where id = $6))`,
    order: 'at desc, id desc',
    size: sizeOf('before::text', 'after::text'),
    limit: filter.limit,
    values: [filter.tenantId, filter.actor, filter.action, filter.from, filter.to, filter.before],
  });
}

/** The log of one tenant, newest first. `app` acts as `tenant_app`. */
export function readTenantLog(
  app: Pool,
  filter: AuditFilter & { tenantId: string },
): Promise<PageRows<StoredEntry>> {
  return withTenant(app, filter.tenantId, (db) => readEntries(db, filter));
}
