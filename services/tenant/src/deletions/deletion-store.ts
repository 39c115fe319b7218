import type { DeletionReceipt } from '@gatehouse/events/deletion-event';
import type { Jobs } from '@gatehouse/jobs/jobs';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { newId } from '@gatehouse/kit/ids';
import { maxDeletionParts, ownIntervalMinutes } from '../bounds.ts';
import {
  taskFor,
  type deletionTasks,
  type OpenPart,
  type PartKey,
  participants,
  type Participant,
} from './deletion-tasks.ts';
import { forgetCounterUser } from '../limits/policy-counter-store.ts';
import { forgetProviderKeys } from '../provider-keys/provider-key-store.ts';

export type DeletionJobs = Jobs<typeof deletionTasks>;

/** A name of a user, with its hash. */
interface HashedName {
  userId: string;
  userHash: string;
}

export interface NewDeletion extends HashedName {
  tenantId: string;
  /** Other names of the user: services have the data of each apart. */
  otherNames: readonly HashedName[];
}

export interface Deletion {
  id: string;
  completed: boolean;
  services: DeletionOfService[];
}

interface DeletionOfService {
  service: Participant;
  completed: boolean;
  counts: Record<string, number>;
}

/** Rounded up: never before the covered data. */
const requestedAtMs = `ceil(extract(epoch from d.requested_at) * 1000)::float8 as "requestedAtMs"`;

/** The deletions of users' data, one tenant at a time. `pool` acts as `tenant_app`. */
export class DeletionStore extends Store {
  find(tenantId: string, deletion: Parameters<typeof findDeletion>[2]): Promise<Deletion | null> {
    return findDeletion(this.tenant(tenantId), tenantId, deletion);
  }

  /** Null when the service has completed or the deletion is gone. */
  async open({ tenantId, deletionId, service }: PartKey): Promise<OpenPart | null> {
    return this.tenant(tenantId).first<OpenPart>(
      `update tenant.user_deletion_services as s set attempted_at = clock_timestamp()
         from tenant.user_deletions as d
         where d.id = s.deletion_id and s.deletion_id = $1 and s.service = $2 and s.completed_at is null
         returning d.user_id as "userId", ${requestedAtMs}, s.counts`,
      [deletionId, service],
    );
  }

  /**
   * Stores a receipt. It completes its service if it is for the last request of the deletion, and the last service
   * completes the deletion.
   */
  async record(receipt: DeletionReceipt): Promise<void> {
    const { deletion_id: deletionId, tenant_id: tenantId, service, counts, completed } = receipt;
    await withTenant(this.pool, tenantId, async (db) => {
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
  return (
    (
      await db.first<{ requestedAtMs: number }>(
        `select ${requestedAtMs} from tenant.user_deletions as d
     where id = $1 and completed_at is null for update`,
        [deletionId],
      )
    )?.requestedAtMs ?? null
  );
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

/**
 * Starts the deletion of a user's data under all names. If one runs, it covers what the user did until now instead,
 * which all services then have to do, and its id is returned.
 */
export async function startDeletion(
  db: Queryable,
  jobs: DeletionJobs,
  { otherNames, ...deletion }: NewDeletion,
): Promise<string> {
  const { tenantId } = deletion;
  const parts: string[] = [];
  for (const name of otherNames)
    parts.push(await startDeletionOf(db, jobs, { tenantId, ...name, parts: [] }));
  return startDeletionOf(db, jobs, { ...deletion, parts });
}

/** The deletion of what a user left under one name. `parts`: the deletions of other names. */
async function startDeletionOf(
  db: Queryable,
  jobs: DeletionJobs,
  { tenantId, userId, userHash, parts }: HashedName & { tenantId: string; parts: readonly string[] },
): Promise<string> {
  const { id: deletionId } = await db.one<{ id: string }>(
    `insert into tenant.user_deletions as d (id, tenant_id, user_id, user_hash, parts) values ($1, $2, $3, $4, $5)
     on conflict (tenant_id, user_id) where completed_at is null
       do update set requested_at = greatest(d.requested_at, clock_timestamp()), user_hash = excluded.user_hash,
         parts = array(select distinct part from unnest(d.parts || excluded.parts) as all_parts (part)
           limit ${maxDeletionParts})
     returning id`,
    [newId(), tenantId, userId, userHash, parts],
  );
  await db.query(
    `insert into tenant.user_deletion_services (deletion_id, tenant_id, service)
     select $1, $2, service from unnest($3::text[]) as service
     on conflict (deletion_id, service) do update set completed_at = null, attempted_at = clock_timestamp()`,
    [deletionId, tenantId, participants],
  );
  await forgetProviderKeys(db, { tenantId, userId });
  await forgetCounterUser(db, { tenantId, userId });
  for (const service of participants) await addJob(db, jobs, { tenantId, deletionId, service });
  return deletionId;
}

/** Makes the job of a service run now, in place of a waiting one. */
export async function addJob(
  db: Queryable,
  jobs: DeletionJobs,
  { tenantId, deletionId, service }: PartKey,
): Promise<void> {
  const job = { task: taskFor(service), tenantId, key: deletionId };
  await jobs.cancel(db, job);
  await jobs.add(db, { ...job, ids: { deletionId } });
}

/** Counts the running deletions of a tenant, up to `most`. */
export async function countRunning(db: Queryable, tenantId: string, most: number): Promise<number> {
  return (
    await db.one<{ count: number }>(
      `select count(*)::integer as count from (
       select 1 from tenant.user_deletions where tenant_id = $1 and completed_at is null limit $2) as running`,
      [tenantId, most],
    )
  ).count;
}

/** Whether the deletion of a user with one of these hashes was requested within the interval. */
export async function wasRequestedLately(
  db: Queryable,
  tenantId: string,
  userHashes: readonly string[],
): Promise<boolean> {
  return db.exists(
    `select from tenant.user_deletions
     where tenant_id = $1 and user_hash = any ($2::text[])
       and requested_at > now() - make_interval(mins => $3) limit 1`,
    [tenantId, userHashes, ownIntervalMinutes],
  );
}

/** Null when the tenant has no deletion of a user with one of these hashes, in any of its parts. */
export async function findDeletion(
  db: Queryable,
  tenantId: string,
  { id, userHashes }: { id: string; userHashes: readonly string[] },
): Promise<Deletion | null> {
  const deletion = await db.first<{ ids: string[] }>(
    `select d.id || d.parts as ids from tenant.user_deletions as d
     where d.tenant_id = $1 and d.id = $2 and (d.user_hash = any ($3::text[]) or exists (
       select from tenant.user_deletions as p where p.id = any (d.parts) and p.user_hash = any ($3::text[])))`,
    [tenantId, id, userHashes],
  );
  if (deletion === null) return null;
  const rows = await db.all<DeletionOfService & { done: boolean }>(
    `select s.service, s.completed_at is not null as completed, s.counts, d.completed_at is not null as done
     from tenant.user_deletions as d join tenant.user_deletion_services as s on s.deletion_id = d.id
     where d.id = any ($1::uuid[]) order by array_position($2::text[], s.service)`,
    [deletion.ids, participants],
  );
  const byService = Map.groupBy(rows, ({ service }) => service);
  return {
    id,
    completed: rows.every(({ done }) => done),
    services: [...byService].map(([service, parts]) => ({
      service,
      completed: parts.every(({ completed }) => completed),
      counts: sumOf(parts.map(({ counts }) => counts)),
    })),
  };
}

function sumOf(all: readonly Record<string, number>[]): Record<string, number> {
  const sums = new Map<string, number>();
  for (const counts of all)
    for (const [kind, count] of Object.entries(counts)) sums.set(kind, (sums.get(kind) ?? 0) + count);
  return Object.fromEntries(sums);
}
