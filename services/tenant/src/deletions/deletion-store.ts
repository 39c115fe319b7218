import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { DeletionParts, OpenPart, PartKey } from './deletion-tasks.ts';
import type { Forgotten } from './participants.ts';
import { addJob, findDeletion, type Deletion, type DeletionJobs } from './deletion-statements.ts';

/** Rounded up, so that it is never before what it covers. */
const requestedAtMs = `ceil(extract(epoch from d.requested_at) * 1000)::bigint::text as "requestedAtMs"`;

/** The deletions of users' data, one tenant at a time. */
export class DeletionStore implements DeletionParts {
  readonly #pool: Pool;
  readonly #jobs: DeletionJobs;

  /** `pool` acts as `tenant_app`. */
  constructor(pool: Pool, jobs: DeletionJobs) {
    this.#pool = pool;
    this.#jobs = jobs;
  }

  async find(
    tenantId: string,
    deletion: { id: string; userHashes: readonly string[] },
  ): Promise<Deletion | null> {
    return withTenant(this.#pool, tenantId, (db) => findDeletion(db, tenantId, deletion));
  }

  async open({ tenantId, deletionId, service }: PartKey): Promise<OpenPart | null> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<{ userId: string; requestedAtMs: string }>(
        `update tenant.user_deletion_services as s set attempted_at = clock_timestamp()
         from tenant.user_deletions as d
         where d.id = s.deletion_id and s.deletion_id = $1 and s.service = $2 and s.completed_at is null
         returning d.user_id as "userId", ${requestedAtMs}`,
        [deletionId, service],
      );
      const [found] = rows;
      return found === undefined ? null : { ...found, requestedAtMs: BigInt(found.requestedAtMs) };
    });
  }

  async record(
    key: PartKey,
    { counts, completed, requestedAtMs: calledFor }: Forgotten & { requestedAtMs: bigint },
  ): Promise<void> {
    const { tenantId, deletionId, service } = key;
    await withTenant(this.#pool, tenantId, async (db) => {
      const running = await lockRunning(db, deletionId);
      if (running === null) return;
      const done = completed && running.requestedAtMs === calledFor;
      const known = await findCounts(db, key);
      if (known === null) return;
      await db.query(
        `update tenant.user_deletion_services
         set counts = $3, completed_at = case when $4 then clock_timestamp() end
         where deletion_id = $1 and service = $2`,
        [deletionId, service, sum(known, counts), done],
      );
      if (done) await endWithLast(db, deletionId);
      else {
        // A service that has removed nothing waits for something, such as runs that are under way.
        const waits = !completed && Object.values(counts).every((count) => count === 0n);
        await addJob(db, this.#jobs, { ...key, ...(waits && { runAt: running.soon }) });
      }
    });
  }
}

/** A running deletion, locked; null for any other. `soon`: in five seconds. */
async function lockRunning(
  db: Queryable,
  deletionId: string,
): Promise<{ requestedAtMs: bigint; soon: Date } | null> {
  const { rows } = await db.query<{ requestedAtMs: string; soon: Date }>(
    `select ${requestedAtMs}, clock_timestamp() + interval '5 seconds' as soon
     from tenant.user_deletions as d where id = $1 and completed_at is null for update`,
    [deletionId],
  );
  const [found] = rows;
  return found === undefined ? null : { ...found, requestedAtMs: BigInt(found.requestedAtMs) };
}

/** Null when the service has completed. */
async function findCounts(
  db: Queryable,
  { deletionId, service }: PartKey,
): Promise<Record<string, number> | null> {
  const { rows } = await db.query<{ counts: Record<string, number> }>(
    `select counts from tenant.user_deletion_services
     where deletion_id = $1 and service = $2 and completed_at is null`,
    [deletionId, service],
  );
  return rows[0]?.counts ?? null;
}

function sum(known: Record<string, number>, added: Readonly<Record<string, bigint>>): Record<string, number> {
  const entries = Object.entries(added).map(([kind, count]) => [kind, (known[kind] ?? 0) + Number(count)]);
  return { ...known, ...(Object.fromEntries(entries) as Record<string, number>) };
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
