import { withTransaction, type Pool } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { deletionLostMinutes, resumedAtOnce } from '../bounds.ts';
import { type PartKey, participants, type Participant } from './deletion-tasks.ts';
import { addJob, type DeletionJobs } from './deletion-store.ts';

export const oldDeletions: OldRows = {
  ...{ table: 'tenant.user_deletions', key: 'id', where: `completed_at < now() - interval '90 days'` },
};

/** A deletion running for over an hour. */
interface OverdueDeletion {
  id: string;
  tenantId: string;
  /** The services still to complete. */
  services: Participant[];
}

/** The deletions of users' data of all tenants. */
export class DeletionSystemStore extends Store {
  readonly #jobs: DeletionJobs;

  /** `pool` acts as `tenant_system`. */
  constructor(pool: Pool, jobs: DeletionJobs) {
    super(pool);
    this.#jobs = jobs;
  }

  /** Adds jobs for services still to complete, without a recent receipt. Returns whether there may be more. */
  async resume(): Promise<boolean> {
    return withTransaction(this.pool, async (db) => {
      const rows = await db.all<PartKey>(
        `update tenant.user_deletion_services as s set attempted_at = clock_timestamp()
         where (deletion_id, service) in (
           select deletion_id, service from tenant.user_deletion_services
           where completed_at is null and attempted_at < now() - make_interval(mins => $1) and service = any ($2::text[])
           order by attempted_at limit $3 for update skip locked)
         returning tenant_id as "tenantId", deletion_id as "deletionId", service`,
        [deletionLostMinutes, participants, resumedAtOnce],
      );
      for (const part of rows) await addJob(db, this.#jobs, part);
      return rows.length === resumedAtOnce;
    });
  }

  /** Their number, and the 10 oldest. */
  async findOverdue(): Promise<{ count: number; oldest: OverdueDeletion[] }> {
    const rows = await this.pool.all<
      OverdueDeletion & { count: number }
    >(`select count(*) over ()::integer as count, d.id, d.tenant_id as "tenantId", array(
         select s.service from tenant.user_deletion_services as s
         where s.deletion_id = d.id and s.completed_at is null) as services
       from tenant.user_deletions as d
       where d.completed_at is null and d.created_at < now() - interval '1 hour'
       order by d.created_at limit 10`);
    return { count: rows[0]?.count ?? 0, oldest: rows.map(({ count: _, ...deletion }) => deletion) };
  }
}
