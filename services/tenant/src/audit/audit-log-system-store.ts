import type { AuditEntry, NewAuditEntry } from '@gatehouse/contract/audit';
import type { DeadLetter } from '@gatehouse/events/dead-letters';
import type { PageRows } from '@gatehouse/kit/page';
import { withTransaction, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { readEntries, type AuditFilter, type KeptEntry } from './audit-log-statements.ts';

/** Adds an entry to the log, in the transaction and with the time of the change that it records. */
export async function insertEntry(db: Queryable, entry: NewAuditEntry): Promise<void> {
  await insert(db, entry, null);
}

/** The log of administrative changes, of all tenants and of owners. */
export class AuditLogSystemStore {
  readonly #pool: Pool;

  /** `pool` acts as `tenant_system`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Newest first. */
  async list(filter: AuditFilter): Promise<PageRows<KeptEntry>> {
    return readEntries(this.#pool, filter);
  }

  /** Stores entries of other services: all of them or none, and each once. */
  async takeIn(entries: readonly AuditEntry[]): Promise<void> {
    await withTransaction(this.#pool, async (db) => {
      for (const { at, ...entry } of entries) await insert(db, entry, at);
    });
  }

  /** Stores the dead letter once, and deletes those older than 30 days. */
  async insertDeadLetter(letter: DeadLetter): Promise<void> {
    await this.#pool.query(
      `with old as (delete from tenant.dead_letters where received_at < now() - interval '30 days')
       insert into tenant.dead_letters (id, origin, reason, payload) values ($1, $2, $3, $4) on conflict do nothing`,
      [letter.id, letter.origin, letter.reason, letter.payload],
    );
  }
}

/** The event of a change in this service finds its entry in the log: with microseconds, so the id alone decides. */
async function insert(db: Queryable, entry: NewAuditEntry, at: string | null): Promise<void> {
  const { actor, resource } = entry;
  await db.query(
    `insert into tenant.audit_log (id, at, action, actor_key_id, actor_role, actor_user_id, tenant_id, resource_type,
       resource_id, client_ip, request_id, before, after)
     select $1::uuid, coalesce($2::timestamptz, now()), $3, $4::uuid, $5, $6, $7::uuid, $8, $9::uuid, $10, $11, $12::json,
       $13::json
     where not exists (select from tenant.audit_log where id = $1::uuid)
     on conflict do nothing`,
    [
      entry.id,
      at,
      entry.action,
      actor.key_id,
      actor.role,
      actor.user_id,
      entry.tenant_id,
      resource.type,
      resource.id,
      entry.client_ip,
      entry.request_id,
      entry.before === null ? null : JSON.stringify(entry.before),
      entry.after === null ? null : JSON.stringify(entry.after),
    ],
  );
}
