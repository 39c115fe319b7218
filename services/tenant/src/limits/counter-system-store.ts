import { cleanUpRows } from '@gatehouse/kit/bounds';
import { sessionBudgetPolicyId } from '@gatehouse/kit/session-budget';
import { withTransaction, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { boundsOf } from './counter-opening-store.ts';

/** Ended counters of policies of all tenants. `pool` acts as `tenant_system`. */
export class CounterSystemStore extends Store {
  /** Deletes some ended rows, and counters without a row left. Returns whether there may be more. */
  async deleteEnded(): Promise<boolean> {
    return withTransaction(this.pool, async (db) => {
      const ended = await db.all<{ id: string; subjectIds: string[] }>(
        `select id, array_remove(array[tenant_id, api_key_id], null) as "subjectIds" from tenant.policy_counters
         where removable_at < now() order by removable_at limit $1`,
        [cleanUpRows],
      );
      if (ended.length === 0) return false;
      // The order of locks in which counters are opened.
      await db.query(
        `select from tenant.limit_uses
         where subject_id = any ($1::uuid[]) and resource in ('counters', 'keyless_counters', 'session_counters')
         order by subject_id, resource for update`,
        [[...new Set(ended.flatMap(({ subjectIds }) => subjectIds))]],
      );
      await deleteCounters(db, [...new Set(ended.map(({ id }) => id))]);
      return ended.length === cleanUpRows;
    });
  }

  /**
   * Has the counters of some deleted policies deleted by the next round. Rows in use are left for the next one. Returns
   * whether there may be more.
   */
  async endDeleted(): Promise<boolean> {
    const ended = await this.pool.count(
      // Walks from policy to policy: one may have a million counters.
      `with recursive counted as (
         (select policy_id from tenant.policy_counters order by policy_id limit 1)
         union all
         select next.policy_id from counted cross join lateral (
           select policy_id from tenant.policy_counters c where c.policy_id > counted.policy_id
           order by policy_id limit 1
         ) next
       )
       update tenant.policy_counters set removable_at = '-infinity' where ctid = any (array (
         select c.ctid from counted cross join lateral (
           select ctid from tenant.policy_counters
           where policy_id = counted.policy_id and removable_at > '-infinity'
             and policy_id <> $2 and not exists (select from tenant.policies p where p.id = counted.policy_id)
           limit $1 for update skip locked
         ) c limit $1))`,
      [cleanUpRows, sessionBudgetPolicyId],
    );
    return ended === cleanUpRows;
  }
}

/** Deletes the ended rows of counters. Rows in use are left for the next round. */
async function deleteCounters(db: Queryable, ids: readonly string[]): Promise<void> {
  const rows = await db.all<{ id: string; tenantId: string; policyId: string; apiKeyId: string | null }>(
    `delete from tenant.policy_counters where ctid = any (array (
       select ctid from tenant.policy_counters where id = any ($1::uuid[]) and removable_at < now()
       for update skip locked))
     returning id, tenant_id as "tenantId", policy_id as "policyId", api_key_id as "apiKeyId"`,
    [ids],
  );
  const left = await db.all<{ id: string }>(
    'select distinct id from tenant.policy_counters where id = any ($1::uuid[])',
    [ids],
  );
  const known = new Set(left.map(({ id }) => id));
  const gone = new Map(rows.filter(({ id }) => !known.has(id)).map((row) => [row.id, row]));
  if (gone.size === 0) return;
  await db.query('delete from tenant.limit_holds where subject_id = any ($1::uuid[])', [[...gone.keys()]]);
  const bounds = [...gone.values()].flatMap(({ tenantId, ...counter }) => boundsOf(tenantId, counter));
  await db.query(
    `update tenant.limit_uses u set used = greatest(0, u.used - g.counters)
     from (select id, resource, count(*) as counters from unnest($1::uuid[], $2::text[]) as b (id, resource)
           group by id, resource) g
     where u.subject_id = g.id and u.resource = g.resource and u.subject_id = any ($1::uuid[])`,
    [bounds.map(({ subjectId }) => subjectId), bounds.map(({ resource }) => resource)],
  );
}
