import type { Queryable } from '@gatehouse/pg/pool';
import type { Person } from './api-key.ts';
import type { Rights } from './rights.ts';

/** The key that the logins of a person have in a tenant. */
export interface LoginKey extends Rights {
  id: string;
  secretSha256: Buffer;
}

/** The active keys of a person's logins, newest first. The role and the tenant of the connection decide which it reaches. */
export async function findLoginKeys(db: Queryable, { iss, sub }: Person): Promise<LoginKey[]> {
  const { rows } = await db.query<LoginKey>(
    `select id, tenant_id as "tenantId", role, scopes, user_id as "userId", secret_sha256 as "secretSha256"
     from tenant.api_keys
     where iss = $1 and sub = $2 and tenant.api_key_status(api_keys) in ('active', 'expiring')
     order by id desc limit 1000`,
    [iss, sub],
  );
  return rows;
}
