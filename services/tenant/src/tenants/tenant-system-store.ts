import type { TenantStatus } from '@gatehouse/contract/tenants';
import { AppError } from '@gatehouse/kit/errors';
import { isUniqueViolation } from '@gatehouse/pg/errors';
import type { PageRows, PageRequest } from '@gatehouse/kit/page';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import type { Changed, Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { ApiKey, NewApiKey } from '../keys/api-key.ts';
import type { NewTenant, Tenant, TenantSettings } from './tenant.ts';
import { insertApiKey } from '../keys/api-key-store.ts';
import { assertTimezone, findTenant, lockAndChange, tenantColumns } from './tenant-store.ts';

export interface TenantFilter extends PageRequest {
  status: TenantStatus | null;
  /** Part of the name or slug; case-insensitive. */
  q: string | null;
}

/** All tenants, for the routes of owners. `pool` acts as `tenant_system`. */
export class TenantSystemStore extends Store {
  /** Newest first. */
  async list(filter: TenantFilter): Promise<PageRows<Tenant>> {
    return readPage<Tenant>(this.pool, {
      columns: tenantColumns,
      from: `tenant.tenants
       where ($1::text is null or status = $1)
         and ($2::text is null or strpos(lower(name), lower($2)) > 0 or strpos(slug, lower($2)) > 0)
         and ($3::uuid is null or id < $3)`,
      order: 'id desc',
      size: sizeOf('name', 'allowed_models::text'),
      limit: filter.limit,
      values: [filter.status, filter.q, filter.before],
    });
  }

  find(id: string): Promise<Tenant | null> {
    return findTenant(this.pool, id);
  }

  /** The slugs and names of those of these tenants that exist. */
  names(ids: readonly string[]): Promise<Pick<Tenant, 'id' | 'slug' | 'name'>[]> {
    return this.pool.all('select id, slug, name from tenant.tenants where id = any($1::uuid[])', [ids]);
  }

  /** The tenant with this slug, if there is one. */
  named(slug: string): Promise<Pick<Tenant, 'id' | 'slug' | 'name'>[]> {
    return this.pool.all('select id, slug, name from tenant.tenants where slug = $1', [slug]);
  }
}

/**
 * Inserts a tenant together with its first admin key. Throws `tenant_slug_taken`, and `invalid_value` for a time zone
 * unknown to the database.
 */
export async function insertTenantWithKey(
  db: Queryable,
  tenant: NewTenant,
  key: NewApiKey,
): Promise<{ tenant: Tenant; adminKey: ApiKey }> {
  await assertTimezone(db, tenant.timezone);
  const inserted = await insertTenant(db, tenant).catch((error: unknown) =>
    nameSlugConflict(error, tenant.slug),
  );
  return { tenant: inserted, adminKey: await insertApiKey(db, key) };
}

/**
 * Locks the tenant and applies `change` to its current settings. Null without a tenant of this id. `setsTimezone`: the
 * owner names the time zone. It then applies to budgets too, also if the tenant already has it. Throws the errors of
 * `insertTenantWithKey`.
 */
export async function changeTenant(
  db: Queryable,
  id: string,
  change: (current: TenantSettings) => TenantSettings,
  { setsTimezone }: { setsTimezone: boolean },
): Promise<Changed<Tenant> | null> {
  return lockAndChange(db, id, change, (settings) =>
    updateTenant(db, id, settings, setsTimezone).catch((error: unknown) =>
      nameSlugConflict(error, settings.slug),
    ),
  );
}

function nameSlugConflict(error: unknown, slug: string): never {
  if (!isUniqueViolation(error, 'tenants_slug_key')) throw error;
  throw new AppError('tenant_slug_taken', `The slug ${slug} belongs to another tenant.`, {
    param: 'slug',
    cause: error,
  });
}

async function insertTenant(db: Queryable, tenant: NewTenant): Promise<Tenant> {
  return db.one<Tenant>(
    `insert into tenant.tenants
       (id, slug, name, status, limits, budget, allowed_models, timezone, retention_days, previews_enabled,
        previews_max_chars, memory_limits, user_keys_enabled, user_keys_max, user_keys_max_days, content_full,
        acting_users, scim_user_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
     returning ${tenantColumns}`,
    [tenant.id, ...settingValues(tenant)],
  );
}

async function updateTenant(
  db: Queryable,
  id: string,
  settings: TenantSettings,
  setsTimezone: boolean,
): Promise<Tenant> {
  return db.one<Tenant>(
    `update tenant.tenants set
       slug = $2, name = $3, status = $4, limits = $5, budget = $6, allowed_models = $7, timezone = $8,
       retention_days = $9, previews_enabled = $10, previews_max_chars = $11, memory_limits = $12,
       user_keys_enabled = $13, user_keys_max = $14, user_keys_max_days = $15, content_full = $16,
       acting_users = $17, scim_user_id = $18, updated_at = now(),
       budget_timezone = case when $19 then $8 else budget_timezone end
     where id = $1
     returning ${tenantColumns}`,
    [id, ...settingValues(settings), setsTimezone],
  );
}

/** The values in the order of the columns of both statements above. */
function settingValues(settings: TenantSettings): unknown[] {
  const { previews, userKeys } = settings;
  return [
    ...[settings.slug, settings.name, settings.status, settings.limits, settings.budget],
    ...[settings.allowedModels, settings.timezone, settings.retentionDays],
    ...[previews.enabled, previews.max_chars, settings.memoryLimits],
    ...[userKeys.enabled, userKeys.max, userKeys.max_days, settings.contentFull],
    ...[settings.actingUsers, settings.scimUserId],
  ];
}
