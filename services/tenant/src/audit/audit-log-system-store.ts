import type { AuditEntry, NewAuditEntry } from '@gatehouse/contract/audit';
import type { DeadLetter } from '@gatehouse/events/dead-letters';
import type { PageRows } from '@gatehouse/kit/page';
import { withTransaction, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { readEntries, type AuditFilter, type StoredEntry } from './audit-log-store.ts';

/** Adds a new entry to the log, in the transaction and with the time of the recorded change. */
export async function insertEntry(db: Queryable, entry: NewAuditEntry): Promise<void> {
  await db.query(
    `insert into tenant.audit_log (at, ${columns})
     values (now(), ${values})`,
    valuesOf(entry),
  );
}

/** The log of administrative changes, of all tenants and of owners. `pool` acts as `tenant_system`. */
export class AuditLogSystemStore extends Store {
  /** Newest first. */
  async list(filter: AuditFilter): Promise<PageRows<StoredEntry>> {
    return readEntries(this.pool, filter);
  }

  /** Stores entries from events: all or nothing, and each once. */
  async takeIn(entries: readonly AuditEntry[]): Promise<void> {
    await withTransaction(this.pool, async (db) => {
      for (const entry of entries) await insertOnce(db, entry);
    });
  }

  /** Stores the dead letter once, and deletes those older than 30 days. */
  async insertDeadLetter(letter: DeadLetter): Promise<void> {
    await this.pool.query(
      `with old as (delete from tenant.dead_letters where received_at < now() - interval '30 days')
       insert into tenant.dead_letters (id, origin, reason, payload) values ($1, $2, $3, $4) on conflict do nothing`,
      [letter.id, letter.origin, letter.reason, letter.payload],
    );
  }
}

const columns = `id, action, actor_key_id, actor_role, actor_user_id, tenant_id, resource_type, resource_id, client_ip,
  request_id, before, after`;
const values = '$1::uuid, $2, $3::uuid, $4, $5, $6::uuid, $7, $8::uuid, $9, $10, $11::json, $12::json';

function valuesOf({ actor, resource, before, after, ...entry }: NewAuditEntry): unknown[] {
  return [
    ...[entry.id, entry.action, actor.key_id, actor.role, actor.user_id, entry.tenant_id],
    ...[resource.type, resource.id, entry.client_ip, entry.request_id],
    before === null ? null : JSON.stringify(before),
    after === null ? null : JSON.stringify(after),
  ];
}

/** Events have no microseconds, as the entries of changes in this service have, which come as events too. */
const nearMs = 1_000;

/** Inserts the entry unless there is one with its id and about its time: the planner leaves other months alone. */
async function insertOnce(db: Queryable, { at, ...entry }: AuditEntry): Promise<void> {
  const near = [-nearMs, nearMs].map((ms) => new Date(Date.parse(at) + ms).toISOString());
  await db.query(
    `insert into tenant.audit_log (at, ${columns})
     select $13::timestamptz, ${values}
     where not exists (
       select from tenant.audit_log
       where id = $1::uuid and at between $14::timestamptz and $15::timestamptz)
     on conflict do nothing`,
    [...valuesOf(entry), at, ...near],
  );
}
