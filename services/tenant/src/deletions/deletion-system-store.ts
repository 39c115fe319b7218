import { withTransaction, type Pool } from '@gatehouse/pg/pool';
import { allRows, oneRow } from '@gatehouse/pg/rows';
import { Store } from '@gatehouse/pg/store';
import { lostAfterMinutes, type PartKey } from './deletion-tasks.ts';
import type { OverdueDeletion } from './deletion-upkeep.ts';
import { participants, type Participant } from './participants.ts';
import { addJob, type DeletionJobs } from './deletion-store.ts';

const keptDays = 90;
const resumedAtOnce = 100;

/** The deletions of users' data of all tenants. */
export class DeletionSystemStore extends Store {
  readonly #jobs: DeletionJobs;

  /** `pool` acts as `tenant_system`. */
  constructor(pool: Pool, jobs: DeletionJobs) {
    super(pool);
    this.#jobs = jobs;
  }

  /**
   * Adds jobs for services that have not completed, and from which no receipt has come for a while.
   * Returns whether there may be more.
   */
  async resume(): Promise<boolean> {
    return withTransaction(this.pool, async (db) => {
      const rows = await allRows<PartKey>(
        db,
        `update tenant.user_deletion_services as s set attempted_at = clock_timestamp()
         where (deletion_id, service) in (
           select deletion_id, service from tenant.user_deletion_services
           where completed_at is null and attempted_at < now() - make_interval(mins => $1) and service = any ($2::text[])
           order by attempted_at limit $3 for update skip locked)
         returning tenant_id as "tenantId", deletion_id as "deletionId", service`,
        [lostAfterMinutes, participants, resumedAtOnce],
      );
      for (const part of rows) await addJob(db, this.#jobs, part);
      return rows.length === resumedAtOnce;
    });
  }

  async countOverdue(): Promise<number> {
    return (
      await oneRow<{ count: number }>(
        this.pool,
        `select count(*)::integer as count from tenant.user_deletions
       where completed_at is null and created_at < now() - interval '1 hour'`,
      )
    ).count;
  }

  /** The 10 oldest. */
  async findOverdue(): Promise<OverdueDeletion[]> {
    return allRows<{ id: string; tenantId: string; services: Participant[] }>(
      this.pool,
      `select d.id, d.tenant_id as "tenantId", array(
         select s.service from tenant.user_deletion_services as s
         where s.deletion_id = d.id and s.completed_at is null) as services
       from tenant.user_deletions as d
       where d.completed_at is null and d.created_at < now() - interval '1 hour'
       order by d.created_at limit 10`,
    );
  }

  /** Deletes a batch of deletions that completed long ago. Returns whether there are more. */
  async deleteOld(batch = 1_000): Promise<boolean> {
    const { rowCount } = await this.pool.query(
      `delete from tenant.user_deletions where id = any (array(
         select id from tenant.user_deletions
         where completed_at < now() - make_interval(days => ${keptDays}) limit $1))`,
      [batch],
    );
    return rowCount === batch;
  }
}
