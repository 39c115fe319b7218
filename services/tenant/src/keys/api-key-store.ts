import type { Queryable, Changed } from '@gatehouse/pg/pool';
import { grants, scopes as allScopes, type Scope } from '@gatehouse/contract/scopes';
import type { Person, ProgramRights, Rights, ApiKey, KeySettings, NewApiKey } from './api-key.ts';
import type { PageRequest } from '@gatehouse/kit/page';
import { Store } from '@gatehouse/pg/store';
import { maxLooked } from '../bounds.ts';
import { namesOfUser } from '../shared/user-names-store.ts';

/** The API keys of one tenant at a time. Another tenant's key is treated as missing. `pool` acts as `tenant_app`. */
export class ApiKeyStore extends Store {
  /** Newest first, one more than `limit` when there are more. `user`: a name of the user of all of them. */
  async list(tenantId: string, page: PageRequest & { user: string | null }): Promise<ApiKey[]> {
    const { before, limit, user } = page;
    const db = this.tenant(tenantId);
    const names = user === null ? [] : await namesOfUser(db, tenantId, user);
    return db.all<ApiKey>(
      `select ${apiKeyColumns} from tenant.api_keys
         where tenant_id = $1 and ($2::uuid is null or id < $2)
           and ($4::text is null or user_id = $4 or lower(user_id) = any ($5::text[]))
         order by id desc limit $3`,
      [tenantId, before, limit + 1, user, names],
    );
  }

  async find(tenantId: string, id: string): Promise<ApiKey | null> {
    return this.tenant(tenantId).first<ApiKey>(`select ${apiKeyColumns} from tenant.api_keys where id = $1`, [
      id,
    ]);
  }

  /** The names of those of these keys that the tenant has. */
  async names(tenantId: string, ids: readonly string[]): Promise<Pick<ApiKey, 'id' | 'name'>[]> {
    return this.tenant(tenantId).all('select id, name from tenant.api_keys where id = any($1::uuid[])', [
      ids,
    ]);
  }

  /** The newest `limit` keys with a name that begins with this text, in any case. Looks at the newest `maxLooked`. */
  async named(
    tenantId: string,
    { prefix, limit }: { prefix: string; limit: number },
  ): Promise<Pick<ApiKey, 'id' | 'name'>[]> {
    return this.tenant(tenantId).all(
      `select id, name
       from (select id, name from tenant.api_keys where tenant_id = $1 order by id desc limit ${maxLooked}) as newest
       where starts_with(lower(name), lower($2)) order by id desc limit $3`,
      [tenantId, prefix, limit],
    );
  }
}

/** Statements on keys. The role and the tenant of the connection decide which rows they reach. */

export const apiKeyColumns = `
  api_keys.id, api_keys.tenant_id as "tenantId", api_keys.key_id as "keyId", api_keys.name, api_keys.role,
  api_keys.scopes, api_keys.user_id as "userId", api_keys.limits, api_keys.budget,
  api_keys.toolsets, api_keys.client_settings as "clientSettings",
  (api_keys.iss is not null or api_keys.confirmed_by is not null) as "isDerived",
  tenant.api_key_status(api_keys) as status, api_keys.created_by as "createdBy", api_keys.created_at as "createdAt",
  api_keys.last_used_at as "lastUsedAt", api_keys.expires_at as "expiresAt", api_keys.revoked_at as "revokedAt"`;

/** Whether the key of a session is active, and still has the session's secret. */
export const hasItsKey = `
  tenant.api_key_status(api_keys) in ('active', 'expiring')
  and (api_keys.secret_sha256 = sessions.key_secret_sha256
    or (api_keys.previous_secret_sha256 = sessions.key_secret_sha256 and api_keys.previous_valid_until > now()))`;

export async function insertApiKey(db: Queryable, key: NewApiKey): Promise<ApiKey> {
  return db.one<ApiKey>(
    `insert into tenant.api_keys
       (id, tenant_id, key_id, secret_sha256, name, role, scopes, user_id, limits, budget, expires_at, created_by,
        iss, sub, toolsets, client_settings)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
     returning ${apiKeyColumns}`,
    [
      ...[key.id, key.tenantId, key.keyId, key.secretSha256, key.name, key.role, key.scopes, key.userId],
      ...[key.limits, key.budget, key.expiresAt, key.createdBy],
      ...[key.person?.iss ?? null, key.person?.sub ?? null, key.toolsets, key.clientSettings],
    ],
  );
}

/** The key, locked until the transaction ends. Null when the connection doesn't reach it. */
export async function lockApiKey(db: Queryable, id: string): Promise<ApiKey | null> {
  return db.first<ApiKey>(`select ${apiKeyColumns} from tenant.api_keys where id = $1 for update`, [id]);
}

/**
 * Those of some scopes a key has, after the changes of the key already begun. It doesn't change before the
 * transaction ends.
 */
export async function holdScopes(db: Queryable, id: string, some: readonly Scope[]): Promise<Scope[]> {
  const key = await db.one<{ scopes: Scope[] }>(
    'select scopes from tenant.api_keys where id = $1 for share',
    [id],
  );
  return some.filter((scope) => grants(key.scopes, scope));
}

/**
 * Locks a key and changes it as `change` says. Its sessions, and the keys made with it, lose scopes with it, and
 * those keys have its toolsets and settings. Null when the connection doesn't reach the key.
 */
export async function changeApiKey(
  db: Queryable,
  id: string,
  change: (key: ApiKey) => KeySettings,
): Promise<Changed<ApiKey> | null> {
  const before = await lockApiKey(db, id);
  if (before === null) return null;
  const { name, scopes, ...rights } = change(before);
  await db.query('update tenant.api_keys set name = $2, scopes = $3 where id = $1', [id, name, scopes]);
  // Keys made with it may have the reading half of its scopes.
  const included = allScopes.filter((scope) => grants(scopes, scope));
  await db.query(
    `update tenant.api_keys set scopes = ${remaining('$2')} where confirmed_by = $1 and revoked_at is null`,
    [id, included],
  );
  await db.query(
    `update tenant.sessions set scopes = ${remaining('$2')} where key_id = $1 and ends_at > now()`,
    [id, included],
  );
  const after = await setProgramRights(db, id, rights);
  return after && { before, after };
}

/** Gives a key, and the keys made with it, toolsets and settings. Null when the connection doesn't reach the key. */
export async function setProgramRights(
  db: Queryable,
  id: string,
  { toolsets, clientSettings }: ProgramRights,
): Promise<ApiKey | null> {
  const changed = await db.all<ApiKey>(
    `update tenant.api_keys set toolsets = $2, client_settings = $3
     where id = $1 or confirmed_by = $1 and revoked_at is null returning ${apiKeyColumns}`,
    [id, toolsets, clientSettings],
  );
  return changed.find((key) => key.id === id) ?? null;
}

/** The scopes of a row among some others, in their order. */
function remaining(some: string): string {
  return `array(select scope from unnest(scopes) with ordinality as s (scope, place)
    where scope = any (${some}::text[]) order by place)`;
}

/**
 * Revokes a key; a revoked one keeps its time of revocation. A trigger ends the program keys confirmed by its sessions.
 * Null when the connection doesn't reach the key.
 */
export async function revokeApiKey(db: Queryable, id: string): Promise<Changed<ApiKey> | null> {
  const before = await lockApiKey(db, id);
  if (before === null) return null;
  const after = await db.first<ApiKey>(
    `update tenant.api_keys set revoked_at = coalesce(revoked_at, now()) where id = $1 returning ${apiKeyColumns}`,
    [id],
  );
  return after && { before, after };
}

/**
 * Gives a key a new secret. The previous one stays valid for the overlap, and any older one becomes invalid now. A
 * trigger ends each program key at the end of its confirming session's secret. Null when the key is revoked or expired,
 * belongs to the logins of a person, or the connection doesn't reach it.
 */
export async function replaceSecret(
  db: Queryable,
  { id, secretSha256, overlapSeconds }: { id: string; secretSha256: Buffer; overlapSeconds: number },
): Promise<Changed<ApiKey> | null> {
  const before = await lockApiKey(db, id);
  if (before === null) return null;
  const after = await db.first<ApiKey>(
    `update tenant.api_keys set
       secret_sha256 = $2,
       previous_secret_sha256 = case when $3 > 0 then secret_sha256 end,
       previous_valid_until = case when $3 > 0 then now() + make_interval(secs => $3) end
     where id = $1 and iss is null and tenant.api_key_status(api_keys) in ('active', 'expiring')
     returning ${apiKeyColumns}`,
    [id, secretSha256, overlapSeconds],
  );
  return after && { before, after };
}

/** The key of a person's logins in a tenant. */
export interface LoginKey extends Rights {
  id: string;
  secretSha256: Buffer;
}

/** The active keys of a person's logins, newest first. The role and the tenant of the connection decide which it reaches. */
export async function findLoginKeys(db: Queryable, { iss, sub }: Person): Promise<LoginKey[]> {
  return db.all<LoginKey>(
    `select id, tenant_id as "tenantId", role, scopes, user_id as "userId", secret_sha256 as "secretSha256",
       toolsets, client_settings as "clientSettings"
     from tenant.api_keys
     where iss = $1 and sub = $2 and tenant.api_key_status(api_keys) in ('active', 'expiring')
     order by id desc limit 1000`,
    [iss, sub],
  );
}
