import { rowCount } from '@gatehouse/pg/rows';
import { Store } from '@gatehouse/pg/store';

/** How long a network counts as one that logs in, in days. */
export const loginNetworkDays = 30;

/** Networks from which people have logged in with success, in whatever tenant. `pool` acts as `tenant_system`. */
export class LoginNetworkSystemStore extends Store {
  /** Notes logins, of each network once a day at most, however many replicas call it. */
  async note(networks: readonly string[]): Promise<void> {
    // Replicas lock rows in one order.
    await this.pool.query(
      `insert into tenant.login_networks as known (network)
       select distinct network from unnest($1::text[]) as network order by network
       on conflict (network) do update set last_login_at = now()
         where known.last_login_at < now() - interval '1 day'`,
      [networks],
    );
  }

  /** Deletes up to `limit` networks without a login for {@link loginNetworkDays}; returns how many. */
  async deleteOld(limit: number): Promise<number> {
    return rowCount(
      this.pool,
      `delete from tenant.login_networks where network = any(array(
         select network from tenant.login_networks where last_login_at < now() - make_interval(days => $2)
         limit $1 for update skip locked))`,
      [limit, loginNetworkDays],
    );
  }
}
