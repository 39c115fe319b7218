import { Store } from '@gatehouse/pg/store';
import type { OldRows } from '@gatehouse/pg/clean-up-store';

/** A caller starts over after a silence of more than a minute. */
export const oldChanges: OldRows = {
  ...{ table: 'tenant.changes', where: `at < now() - interval '10 minutes'` },
};

/** The changes since a snapshot, as of another one. */
export interface ChangesSince {
  /** How many there are, up to the bound. */
  changes: number;
  /** Each once, with the tenant, which is empty for a key of an owner. */
  subjects: ChangedSubject[];
  snapshot: string;
  /** Different after each start of the server, as in a failover to another one. */
  server: string;
  /** By the server's clock, in seconds. */
  at: number;
}

interface ChangedSubject {
  tenantId: string;
  /** The public half of a key's text, the UUID of a tenant, user or group, or the hash of a user's name. */
  subject: string;
}

/** Bounds of a list of changes. */
interface ChangeBounds {
  changes: number;
  subjects: number;
  /** Beyond it, the tenant stands for its keys, users, groups and names. */
  subjectsOfTenant: number;
}

/** Changes of keys and tenants. `pool` acts as `tenant_system`. */
export class ChangeSystemStore extends Store {
  /**
   * For each snapshot, up to `subjects` subjects of up to `changes` changes invisible in it, in the order of the snapshots; no
   * changes for null. All of them as of the snapshot of this statement: no change is lost between two calls, in whatever order they
   * commit.
   */
  async since(snapshots: readonly (string | null)[], bounds: ChangeBounds): Promise<ChangesSince[]> {
    return this.pool.all<ChangesSince>({
      name: 'find_changes',
      text: `select pg_current_snapshot()::text as snapshot, extract(epoch from pg_postmaster_start_time())::text as server,
          extract(epoch from now())::float8 as at, c.changes, c.subjects
        from unnest($1::pg_snapshot[]) with ordinality as p (snapshot, place) cross join lateral (
          with since as materialized (
            select tenant_id, coalesce(subject, key_id) as part from tenant.changes
            where xid >= pg_snapshot_xmin(p.snapshot) and not pg_visible_in_snapshot(xid, p.snapshot)
            limit $2
          ), parts as (
            select tenant_id, part, count(*) over (partition by tenant_id) > $3 as are_many
            from (select distinct tenant_id, part from since) as each
          ), subjects as (
            select distinct coalesce(tenant_id::text, '') as "tenantId",
              case when are_many and tenant_id is not null then tenant_id::text else coalesce(part, tenant_id::text) end as subject
            from parts
          )
          select (select count(*)::integer from since) as changes,
            coalesce((select json_agg(s) from (select "tenantId", subject from subjects limit $4) as s), '[]') as subjects
        ) as c order by p.place`,
      values: [snapshots, bounds.changes, bounds.subjectsOfTenant, bounds.subjects],
    });
  }
}
