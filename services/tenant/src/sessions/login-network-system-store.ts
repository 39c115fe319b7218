import { Store } from '@gatehouse/pg/store';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { loginNetworkDays } from '../bounds.ts';

export const oldLoginNetworks: OldRows = {
  ...{ table: 'tenant.login_networks', key: 'network', skipLocked: true },
  where: `last_login_at < now() - interval '${loginNetworkDays} days'`,
};

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
}
