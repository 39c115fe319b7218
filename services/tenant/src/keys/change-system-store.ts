import { Store } from '@gatehouse/pg/store';
import type { OldRows } from '@gatehouse/pg/clean-up-store';

/** A caller starts over after a silence of more than a minute. */
export const oldChanges: OldRows = {
  ...{ table: 'tenant.changes', where: `at < now() - interval '10 minutes'` },
};

/** The changes since a snapshot, as of another one. */
export interface ChangesSince {
  /** The public half of a key's text, the UUID of a tenant, user or group, or the hash of a user's name. */
  subjects: string[];
  snapshot: string;
  /** Different after each start of the server, as in a failover to another one. */
  server: string;
  /** By the server's clock, in seconds. */
  at: number;
}

/** Changes of keys and tenants. `pool` acts as `tenant_system`. */
export class ChangeSystemStore extends Store {
  /**
   * For each snapshot, up to `limit` changes invisible in it, in the order of the snapshots; no changes for null. All
   * of them as of the snapshot of this statement: no change is lost between two calls, in whatever order they commit.
   */
  async since(snapshots: readonly (string | null)[], limit: number): Promise<ChangesSince[]> {
    return this.pool.all<ChangesSince>({
      name: 'find_changes',
      text: `select pg_current_snapshot()::text as snapshot, extract(epoch from pg_postmaster_start_time())::text as server,
          extract(epoch from now())::float8 as at, array(
            select coalesce(c.subject, c.key_id, c.tenant_id::text) from tenant.changes c
            where c.xid >= pg_snapshot_xmin(p.snapshot) and not pg_visible_in_snapshot(c.xid, p.snapshot)
            limit $2) as subjects
        from unnest($1::pg_snapshot[]) with ordinality as p (snapshot, place) order by p.place`,
      values: [snapshots, limit],
    });
  }
}
