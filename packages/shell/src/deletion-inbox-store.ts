import type { UserDeletionEvent } from '@gatehouse/events/deletion-event';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { withTransaction, type Pool } from '@gatehouse/pg/pool';
import { only } from '@gatehouse/pg/rows';

/** Deletions under way in a replica at the same time. */
const claimed = 4;
/** Another replica goes on with a deletion after this time; longer than a step of one takes. */
const leaseS = 60;
const keptDays = 30;

/** Numbers of removed rows by kind. */
export type Counts = Readonly<Record<string, number>>;

/** A deletion a service has taken. */
export interface TakenDeletion {
  deletionId: string;
  tenantId: string;
  /** Null once the data are removed: only the receipt is to be sent. */
  userId: string | null;
  requestedAtMs: number;
  counts: Counts;
}

const columns = `deletion_id as "deletionId", tenant_id as "tenantId", user_id as "userId",
  requested_at_ms::float8 as "requestedAtMs", counts`;

/**
 * Deletions of users' data taken by a service, in its table `user_deletions`. A row is due until the data are removed
 * and the receipt is sent, so it is the outbox of its receipts too.
 */
export class DeletionInboxStore {
  readonly #pool: Pool;
  readonly #table: string;

  /** `pool` acts as `<service>_system`. */
  constructor(pool: Pool, service: string) {
    this.#pool = pool;
    this.#table = `${service}.user_deletions`;
  }

  /** Adds a deletion. A repeat makes the receipt due again; a later request for the same user starts over. */
  async add(deletion: UserDeletionEvent): Promise<void> {
    const { deletion_id, tenant_id, user_id, requested_at_ms, counts } = deletion;
    const isLater = 'excluded.requested_at_ms > known.requested_at_ms';
    await this.#pool.query(
      `insert into ${this.#table} as known (deletion_id, tenant_id, user_id, requested_at_ms, counts, due_at)
       values ($1, $2, $3, $4, $5, now())
       on conflict (deletion_id) do update set
         user_id = case when ${isLater} then excluded.user_id else known.user_id end,
         due_at = case when ${isLater} then now() else coalesce(known.due_at, now()) end,
         received_at = case when ${isLater} then now() else known.received_at end,
         requested_at_ms = greatest(excluded.requested_at_ms, known.requested_at_ms)`,
      [deletion_id, tenant_id, user_id, requested_at_ms, counts],
    );
  }

  /** Leases due deletions, of each tenant in turn. */
  claim(): Promise<TakenDeletion[]> {
    return this.#pool
      .all<TakenDeletion>(`update ${this.#table} set due_at = now() + make_interval(secs => ${leaseS})
       where deletion_id = any (array(
         select deletion_id from ${this.#table}
         where due_at <= now() and deletion_id = any (array(
           select deletion_id from (
             select deletion_id, due_at, row_number() over (partition by tenant_id order by due_at) as turn
             from ${this.#table} where due_at <= now()) as due
           order by turn, due_at limit ${claimed}))
         for update skip locked))
       returning ${columns}`);
  }

  /** Milliseconds until the next deletion is due; null without one. */
  async untilDueMs(): Promise<number | null> {
    const rows = await this.#pool.all<{
      ms: number | null;
    }>(`select (extract(epoch from min(due_at) - now()) * 1000)::float8 as ms from ${this.#table}
       where due_at is not null`);
    return only({ rows }).ms;
  }

  /**
   * Adds what a step has removed. `completed`: it was the last one, unless the deletion was requested again since. Returns
   * the deletion as it is then; null if it is gone.
   */
  async record(
    { deletionId, requestedAtMs }: TakenDeletion,
    { counts: added, completed }: { counts: Counts; completed: boolean },
  ): Promise<TakenDeletion | null> {
    return withTransaction(this.#pool, async (db) => {
      const known = await db.first<TakenDeletion>(
        `select ${columns} from ${this.#table} where deletion_id = $1 for update`,
        [deletionId],
      );
      if (known === null) return null;
      const done = completed && known.requestedAtMs === requestedAtMs;
      const changed = { ...known, counts: sum(known.counts, added), userId: done ? null : known.userId };
      await db.query(`update ${this.#table} set counts = $2, user_id = $3 where deletion_id = $1`, [
        deletionId,
        changed.counts,
        changed.userId,
      ]);
      return changed;
    });
  }

  /** Makes a deletion due after this time, or never; nothing if it was requested again since. */
  async postpone({ deletionId, requestedAtMs }: TakenDeletion, seconds: number | null): Promise<void> {
    await this.#pool.query(
      `update ${this.#table} set due_at = now() + make_interval(secs => $3)
       where deletion_id = $1 and requested_at_ms = $2`,
      [deletionId, requestedAtMs, seconds],
    );
  }

  /**
   * Makes a failed deletion due after a tenth of its age, between 10 seconds and 5 minutes; nothing if it was requested
   * again since.
   */
  async postponeByAge({ deletionId, requestedAtMs }: TakenDeletion): Promise<void> {
    await this.#pool.query(
      `update ${this.#table} set due_at = now() +
         least(interval '300 seconds', greatest(interval '10 seconds', (now() - received_at) / 10))
       where deletion_id = $1 and requested_at_ms = $2`,
      [deletionId, requestedAtMs],
    );
  }
}

/** Old completed deletions of a service. */
export function oldDeletions(service: string): OldRows {
  const where = `due_at is null and received_at < now() - interval '${keptDays} days'`;
  return { table: `${service}.user_deletions`, where };
}

function sum(known: Counts, added: Counts): Counts {
  const entries = Object.entries(added).map(([kind, count]) => [kind, (known[kind] ?? 0) + count] as const);
  return { ...known, ...Object.fromEntries(entries) };
}
