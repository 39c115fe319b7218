import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { withTransaction, type Pool } from '@gatehouse/pg/pool';
import type { Person } from '../keys/api-key.ts';
import { boundPersonalKeys } from './login-store.ts';

export const oldUsedTokens: OldRows = {
  ...{ table: 'tenant.used_tokens', key: 'token_sha256', where: 'expires_at < now()' },
};

/** Much older than a browser takes for a login and the choice of a tenant. */
export const oldIssuerLogouts: OldRows = {
  ...{ table: 'tenant.issuer_logouts', key: 'id', where: `ended_at < now() - interval '1 hour'` },
};

/**
 * Deletes up to `limit` past logins without a session or further revalidations, and returns their number. Own keys of
 * people without another login live for `deviceKeySeconds` from then on at most. `pool` acts as `tenant_system`.
 */
export async function deleteOldLogins(pool: Pool, limit: number, deviceKeySeconds: number): Promise<number> {
  return withTransaction(pool, async (db) => {
    const people = await db.all<Person>(
      `delete from tenant.logins where id = any(array(
         select id from tenant.logins
         where expires_at < now() and look_at is null
           and not exists (select from tenant.sessions where login_id = logins.id)
         limit $1 for update skip locked))
       returning iss, sub`,
      [limit],
    );
    await boundPersonalKeys(db, people, deviceKeySeconds);
    return people.length;
  });
}
