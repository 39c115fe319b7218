import type { Role } from '@gatehouse/contract/scopes';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { withTransaction, type Changed, type Queryable } from '@gatehouse/pg/pool';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import type { ApiKey, ApiKeyStatus, NewApiKey } from './api-key.ts';
import type { StoredKey } from './authentication.ts';
import type { PageRequest } from '@gatehouse/kit/page';
import { Store } from '@gatehouse/pg/store';
import { maxLooked } from '../bounds.ts';
import { apiKeyColumns, insertApiKey, revokeApiKey } from './api-key-store.ts';

/** A key as `Authenticate` needs it. */
export interface KeyToAuthenticate extends StoredKey {
  keyId: string;
  /** Whether the present secret was used since the last renewal. */
  secretUsed: boolean;
}

export interface ApiKeyFilter extends PageRequest {
  roles: readonly Role[];
  tenantId: string | null;
  status: ApiKeyStatus | null;
  unusedSince: string | null;
}

interface ExpiringKey {
  id: string;
  tenantId: string;
  name: string;
  expiresAt: Date;
}

/** API keys of all tenants and of owners, for authentication and for the routes of owners. `pool` acts as `tenant_system`. */
export class ApiKeySystemStore extends Store {
  /** One query, by the public half of the texts of keys. */
  async findToAuthenticate(keyIds: readonly string[]): Promise<KeyToAuthenticate[]> {
    return this.pool.all<KeyToAuthenticate>({
      name: 'find_keys_to_authenticate',
      text: `select
         k.id, k.key_id as "keyId", k.name, k.tenant_id as "tenantId", t.slug as "tenantSlug", t.status as "tenantStatus", k.role, k.scopes,
         k.user_id as "userId", k.toolsets, k.confirmed_by as "confirmedBy", k.expires_at as "expiresAt", k.secret_sha256 as "secretSha256",
         case when k.previous_valid_until > now() then k.previous_secret_sha256 end as "previousSecretSha256",
         k.previous_valid_until as "previousValidUntil",
         k.revoked_at is not null as revoked, k.secret_used as "secretUsed",
         coalesce(k.expires_at <= now(), false) as expired,
         coalesce(k.last_used_at < now() - interval '1 hour', true) as "lastUseIsStale",
         exists (select from tenant.user_directories d where d.tenant_id = k.tenant_id) as "hasUsers"
       from tenant.api_keys k left join tenant.tenants t on t.id = k.tenant_id
       where k.key_id = any($1)`,
      values: [keyIds],
    });
  }

  /** Notes uses, of each key once an hour at most, however many replicas call it. */
  async touch(ids: readonly string[]): Promise<void> {
    await this.pool.query({
      name: 'touch_keys',
      text: `update tenant.api_keys set last_used_at = now() where id = any(array(
        select id from tenant.api_keys
        where id = any($1) and coalesce(last_used_at < now() - interval '1 hour', true)
        for update skip locked))`,
      values: [ids],
    });
  }

  /**
   * Notes the use of keys' present secrets. Returns the ids of locked rows, as by {@link touch} for the same request.
   */
  async noteFirstUse(ids: readonly string[]): Promise<readonly string[]> {
    const rows = await this.pool.all<{ id: string }>(
      `with changed as (
         update tenant.api_keys set secret_used = true where id = any(array(
           select id from tenant.api_keys where id = any($1) and not secret_used for update skip locked))
         returning id)
       select id from tenant.api_keys where id = any($1) and not secret_used and id not in (select id from changed)`,
      [ids],
    );
    return rows.map(({ id }) => id);
  }

  /**
   * Calls `raise` once for each active key of a tenant in its last week, for up to `limit` of them. Keys confirmed by
   * another one, for programs or people, raise no alert. Returns how many there were.
   */
  async raiseExpiring(limit: number, raise: RaiseAlert): Promise<number> {
    return withTransaction(this.pool, async (db) => {
      const rows = await db.all<ExpiringKey>(
        `with due as (
           select id from tenant.api_keys
           where tenant_id is not null and revoked_at is null and confirmed_by is null and expiry_alert_for is distinct from expires_at
             and expires_at > now() and expires_at <= now() + interval '7 days'
           order by expires_at limit $1 for update skip locked)
         update tenant.api_keys k set expiry_alert_for = expires_at from due where k.id = due.id
         returning k.id, k.tenant_id as "tenantId", k.name, k.expires_at as "expiresAt"`,
        [limit],
      );
      for (const { id, tenantId, name, expiresAt } of rows) {
        const data = { api_key_id: id, name, expires_at: expiresAt.toISOString() };
        await raise(db, { id: newId(), tenant_id: tenantId, type: 'key.expiring', data });
      }
      return rows.length;
    });
  }

  /**
   * Newest first, one more than `limit` when there are more. A filter by status or last use reads `maxLooked` keys at
   * most: then `lookedTo` is the id of the last one read, where the next page continues. Otherwise it is null.
   */
  async list(filter: ApiKeyFilter): Promise<{ rows: ApiKey[]; lookedTo: string | null }> {
    const looked = filter.status === null && filter.unusedSince === null ? filter.limit + 1 : maxLooked;
    const lookedTo = looked === maxLooked ? await findLookedTo(this.pool, filter) : null;
    // Joined by id: with the filters, the planner would expect enough matches among the newest keys of all roles.
    const rows = await this.pool.all<ApiKey>(
      `select ${apiKeyColumns} from tenant.api_keys
       where id = any(array(${newestOfRoles} limit $4))
         and ($5::text is null or tenant.api_key_status(api_keys) = $5)
         and ($6::timestamptz is null or coalesce(last_used_at < $6, true))
       order by id desc limit $7`,
      [...newestOf(filter, looked), filter.status, filter.unusedSince, filter.limit + 1],
    );
    return { rows, lookedTo };
  }
}

/**
 * Inserts the platform's first owner key. Null when there is an active owner key already, unless `force`. One of two
 * concurrent calls inserts a key.
 */
export async function insertFirstOwnerKey(
  db: Queryable,
  key: NewApiKey,
  { force }: { force: boolean },
): Promise<ApiKey | null> {
  await lockBootstrap(db);
  if (!force && (await lockActiveOwnerKeys(db)).length > 0) return null;
  return insertApiKey(db, key);
}

/**
 * Revokes any key. Throws `last_owner_key` for the last active owner key without an expiry, and for the last active
 * owner key: without one, no other could be created. Null when there is no key with this id.
 */
export async function revokeAnyApiKey(db: Queryable, id: string): Promise<Changed<ApiKey> | null> {
  assertNotLastOwnerKey(id, await lockActiveOwnerKeys(db));
  return revokeApiKey(db, id);
}

/** Parameters: one or two roles, tenant, exclusive upper id, rows. */
function newestOfRole(role: string): string {
  return `
    (select id from tenant.api_keys
     where role = ${role} and ($2::uuid is null or tenant_id = $2) and ($3::uuid is null or id < $3)
     order by id desc limit $4)`;
}

/** The ids of the newest keys, merged from those of each role: each is read from an index in order. */
const newestOfRoles = `${newestOfRole('($1::text[])[1]')} union all ${newestOfRole('($1::text[])[2]')} order by id desc`;

function newestOf(filter: ApiKeyFilter, count: number): unknown[] {
  return [filter.roles, filter.tenantId, filter.before, count];
}

/** The id of the last key read for a page; null when there are fewer keys. */
async function findLookedTo(db: Queryable, filter: ApiKeyFilter): Promise<string | null> {
  return (
    (await db.first<{ id: string }>(`${newestOfRoles} offset $4 - 1 limit 1`, newestOf(filter, maxLooked)))
      ?.id ?? null
  );
}

interface OwnerKey {
  id: string;
  expires: boolean;
}

/**
 * The active owner keys but those of logins, which an issuer can take away, and of programs, which end with another.
 * Locked against revocation by other transactions.
 */
async function lockActiveOwnerKeys(db: Queryable): Promise<OwnerKey[]> {
  return db.all<OwnerKey>(`select id, expires_at is not null as expires from tenant.api_keys
     where role = 'owner' and iss is null and confirmed_by is null
       and tenant.api_key_status(api_keys) in ('active', 'expiring')
     order by id for update`);
}

function assertNotLastOwnerKey(id: string, active: readonly OwnerKey[]): void {
  const key = active.find((owner) => owner.id === id);
  if (key === undefined) return;
  const others = active.filter((owner) => owner.id !== id);
  // When all owner keys expire, revoking one of several is allowed.
  if (others.some(({ expires }) => !expires || key.expires)) return;
  throw new AppError(
    'last_owner_key',
    key.expires || others.length === 0
      ? 'This is the last active owner key. Create another one before you revoke it.'
      : 'This is the last active owner key that does not expire. Create another one without expires_at before you revoke it.',
  );
}

async function lockBootstrap(db: Queryable): Promise<void> {
  await db.query(`select pg_advisory_xact_lock(hashtextextended('gatehouse.tenant.bootstrap', 0))`);
}
