import type { DeletionReceipt } from '@gatehouse/events/deletion-event';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { DeletionParts, OpenPart, PartKey } from './deletion-tasks.ts';
import { findDeletion, type Deletion } from './deletion-statements.ts';

/** Rounded up, so that it is never before what it covers. */
const requestedAtMs = `ceil(extract(epoch from d.requested_at) * 1000)::float8 as "requestedAtMs"`;

/** The deletions of users' data, one tenant at a time. */
export class DeletionStore implements DeletionParts {
  readonly #pool: Pool;

  /** `pool` acts as `tenant_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async find(
    tenantId: string,
    deletion: { id: string; userHashes: readonly string[] },
  ): Promise<Deletion | null> {
    return withTenant(this.#pool, tenantId, (db) => findDeletion(db, tenantId, deletion));
  }

  async open({ tenantId, deletionId, service }: PartKey): Promise<OpenPart | null> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<OpenPart>(
        `update tenant.user_deletion_services as s set attempted_at = clock_timestamp()
         from tenant.user_deletions as d
         where d.id = s.deletion_id and s.deletion_id = $1 and s.service = $2 and s.completed_at is null
         returning d.user_id as "userId", ${requestedAtMs}, s.counts`,
        [deletionId, service],
      );
      return rows[0] ?? null;
    });
  }

  /**
   * Stores a receipt. It completes its service if it is for the last request of the deletion, and the last service
   * completes the deletion.
   */
  async record(receipt: DeletionReceipt): Promise<void> {
    const { deletion_id: deletionId, tenant_id: tenantId, service, counts, completed } = receipt;
    await withTenant(this.#pool, tenantId, async (db) => {
      const requestedMs = await lockRunning(db, deletionId);
      if (requestedMs === null) return;
      const done = completed && requestedMs === receipt.requested_at_ms;
      await db.query(
        `update tenant.user_deletion_services
         set counts = $3, attempted_at = clock_timestamp(), completed_at = case when $4 then clock_timestamp() end
         where deletion_id = $1 and service = $2 and completed_at is null`,
        [deletionId, service, counts, done],
      );
      if (done) await endWithLast(db, deletionId);
    });
  }
}

/** Locks a running deletion, and returns the time of its last request; null for any other. */
async function lockRunning(db: Queryable, deletionId: string): Promise<number | null> {
  const { rows } = await db.query<{ requestedAtMs: number }>(
    `select ${requestedAtMs} from tenant.user_deletions as d
     where id = $1 and completed_at is null for update`,
    [deletionId],
  );
  return rows[0]?.requestedAtMs ?? null;
}

/** Completes the deletion, and forgets the user, if every service has completed. */
async function endWithLast(db: Queryable, deletionId: string): Promise<void> {
  await db.query(
    `update tenant.user_deletions set completed_at = clock_timestamp(), user_id = null
     where id = $1 and not exists (
       select from tenant.user_deletion_services where deletion_id = $1 and completed_at is null)`,
    [deletionId],
  );
}
