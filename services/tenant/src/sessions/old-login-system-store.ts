import { withTransaction } from '@gatehouse/pg/pool';
import { allRows } from '@gatehouse/pg/rows';
import { Store } from '@gatehouse/pg/store';
import type { Person } from '../keys/api-key.ts';
import { boundPersonalKeys } from './login-store.ts';

/** Logins that are over. `pool` acts as `tenant_system`. */
export class OldLoginSystemStore extends Store {
  /**
   * Deletes up to `limit` logins that are over, have no session and are looked at no more, and as many states and logouts;
   * returns the largest number. Own keys of people without another login live for `ownKeySeconds` from then on at most.
   */
  async deleteOld(limit: number, deviceKeySeconds: number): Promise<number> {
    const logins = await withTransaction(this.pool, async (db) => {
      const rows = await allRows<Person>(
        db,
        `delete from tenant.logins where id = any(array(
           select id from tenant.logins
           where expires_at < now() and look_at is null
             and not exists (select from tenant.sessions where login_id = logins.id)
           limit $1 for update skip locked))
         returning iss, sub`,
        [limit],
      );
      await boundPersonalKeys(db, rows, deviceKeySeconds);
      return rows.length;
    });
    const states = await this.pool.query(
      `delete from tenant.used_tokens where token_sha256 = any(array(
         select token_sha256 from tenant.used_tokens where expires_at < now() limit $1))`,
      [limit],
    );
    // Much longer than a browser takes for a login and the choice of a tenant.
    const logouts = await this.pool.query(
      `delete from tenant.issuer_logouts where id = any(array(
         select id from tenant.issuer_logouts where ended_at < now() - interval '1 hour' limit $1))`,
      [limit],
    );
    return Math.max(logins, states.rowCount ?? 0, logouts.rowCount ?? 0);
  }
}
