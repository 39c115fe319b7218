import type { PageRequest } from '@gatehouse/kit/page';
import type { Queryable } from '@gatehouse/pg/pool';
import { apiKeyColumns, hasItsKey } from './api-key-store.ts';
import type { NewApiKey } from './api-key.ts';
import type { PersonKey, UserKeys } from './personal-key.ts';
import { namesOfUser } from '../shared/user-names-store.ts';

/** Statements on people's own keys. The connection acts as `tenant_app`. */

const personKeyColumns = `${apiKeyColumns}, api_keys.is_own as "isOwn"`;

/** A user of the tenant of the connection. */
export interface KeyOwner {
  tenantId: string;
  userId: string;
}

export type NewPersonalKey = KeyOwner &
  Pick<NewApiKey, 'id' | 'keyId' | 'secretSha256' | 'name' | 'scopes'> & {
    expiresAt: string;
    /** The key of the caller, and the session, if it has one. */
    parentId: string;
    sessionId: string | null;
  };

/**
 * The names by which such keys are bound to a user: its id, and other names, in any case, of keys from before the user
 * had them in the directory.
 */
async function boundNames(db: Queryable, { tenantId, userId }: KeyOwner): Promise<string[]> {
  const names = await namesOfUser(db, tenantId, userId);
  if (names.length === 0) return [userId];
  const rows = await db.all<{ name: string }>(
    `select distinct user_id as name from tenant.api_keys
     where tenant_id = $1 and confirmed_by is not null and lower(user_id) = any ($2::text[])`,
    [tenantId, names],
  );
  return rows.map(({ name }) => name);
}

/** Newest first, one more than `limit` when there are more. */
export async function listPersonalKeys(
  db: Queryable,
  owner: KeyOwner,
  page: PageRequest,
): Promise<PersonKey[]> {
  return db.all<PersonKey>(
    `select ${personKeyColumns} from tenant.api_keys
     where tenant_id = $1 and user_id = any ($2::text[]) and confirmed_by is not null
       and ($3::uuid is null or id < $3)
     order by id desc limit $4`,
    [owner.tenantId, await boundNames(db, owner), page.before, page.limit + 1],
  );
}

/** One of these keys, locked until the transaction ends. */
export async function lockOwnKey(db: Queryable, owner: KeyOwner, id: string): Promise<PersonKey | null> {
  return db.first<PersonKey>(
    `select ${personKeyColumns} from tenant.api_keys
     where id = $1 and tenant_id = $2 and user_id = any ($3::text[]) and confirmed_by is not null for update`,
    [id, owner.tenantId, await boundNames(db, owner)],
  );
}

/**
 * The bounds of the tenant, and the number of valid keys created by a user. The user's creations wait for each other
 * from now on.
 */
export async function findAllowance(
  db: Queryable,
  { tenantId, userId }: KeyOwner,
): Promise<UserKeys & { has: number }> {
  const name = `own keys ${JSON.stringify([tenantId, userId])}`;
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
  return await db.one<UserKeys & { has: number }>(
    `select user_keys_enabled as enabled, user_keys_max as max, user_keys_max_days as "maxDays", (
         select count(*)::integer from tenant.api_keys
         where tenant_id = $1 and user_id = any ($2::text[]) and confirmed_by is not null and is_own
           and tenant.api_key_status(api_keys) in ('active', 'expiring')) as has
       from tenant.tenants where id = $1`,
    [tenantId, await boundNames(db, { tenantId, userId })],
  );
}

/**
 * Makes a key that ends with the caller's key: with its session's secret, or else with the oldest valid secret, since
 * the caller's own one isn't known here. Null if the caller's key, the session or its secret has ended: the edge may
 * have cached the caller for seconds.
 */
export async function insertOwnKey(db: Queryable, key: NewPersonalKey): Promise<PersonKey | null> {
  const { id, tenantId, keyId, secretSha256, name, scopes, userId, expiresAt, parentId, sessionId } = key;
  // A statement sees all earlier commits: a rotation, or a logout that ends sessions and bounds own keys.
  await db.query('select from tenant.api_keys where id = $1 and tenant_id = $2 for no key update', [
    parentId,
    tenantId,
  ]);
  return db.first<PersonKey>(
    `with parent as (
       select api_keys.id, api_keys.secret_sha256, api_keys.previous_valid_until, api_keys.expires_at,
         api_keys.toolsets, api_keys.client_settings,
         coalesce(sessions.key_secret_sha256,
           case when api_keys.previous_valid_until > now() then api_keys.previous_secret_sha256 end,
           api_keys.secret_sha256) as given_sha256
       from tenant.api_keys left join tenant.sessions on sessions.id = $10 and sessions.key_id = api_keys.id
       where api_keys.id = $9 and api_keys.tenant_id = $2
         and tenant.api_key_status(api_keys) in ('active', 'expiring')
         and ($10::uuid is null or (sessions.ends_at > clock_timestamp() and ${hasItsKey})))
     insert into tenant.api_keys (id, tenant_id, key_id, secret_sha256, name, role, scopes, user_id, expires_at,
       created_by, confirmed_by, confirmed_secret_sha256, is_own, toolsets, client_settings)
     select $1::uuid, $2::uuid, $3::text, $4::bytea, $5::text, 'user', $6::text[], $7::text,
       least($8::timestamptz, parent.expires_at,
         case when parent.secret_sha256 <> parent.given_sha256 then parent.previous_valid_until end),
       parent.id::text, parent.id, parent.given_sha256, true, parent.toolsets, parent.client_settings
     from parent
     returning ${personKeyColumns}`,
    [id, tenantId, keyId, secretSha256, name, scopes, userId, expiresAt, parentId, sessionId],
  );
}
