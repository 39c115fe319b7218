import { refuseUnknownTimezone } from '@gatehouse/pg/errors';
import type { Changed, Queryable } from '@gatehouse/pg/pool';
import type { Tenant, TenantSettings } from './tenant.ts';

/** A tenant's columns under their names in `Tenant`. */
export const tenantColumns = `
  id, slug, name, status, limits, memory_limits as "memoryLimits", budget, allowed_models as "allowedModels", timezone,
  retention_days as "retentionDays",
  json_build_object('enabled', previews_enabled, 'max_chars', previews_max_chars) as previews,
  content_full as "contentFull",
  json_build_object('enabled', user_keys_enabled, 'max', user_keys_max, 'max_days', user_keys_max_days) as "userKeys",
  acting_users as "actingUsers", scim_user_id as "scimUserId",
  created_at as "createdAt", updated_at as "updatedAt"`;

/** Null when there is no tenant of this id, or the connection doesn't reach it. */
export async function findTenant(db: Queryable, id: string): Promise<Tenant | null> {
  return db.first<Tenant>(`select ${tenantColumns} from tenant.tenants where id = $1`, [id]);
}

/** Locks the tenant, and updates it to its settings after `change`. Null without a tenant of this id. */
export async function lockAndChange(
  db: Queryable,
  id: string,
  change: (current: TenantSettings) => TenantSettings,
  update: (settings: TenantSettings) => Promise<Tenant>,
): Promise<Changed<Tenant> | null> {
  const before = await db.first<Tenant>(
    `select ${tenantColumns} from tenant.tenants where id = $1 for update`,
    [id],
  );
  if (before === null) return null;
  const settings = change(before);
  // Checks a changed time zone only: a tenant with an unknown one can still be suspended.
  if (settings.timezone !== before.timezone) await assertTimezone(db, settings.timezone);
  return { before, after: await update(settings) };
}

/** Stores the settings that admins of the tenant may change. The connection acts as `tenant_app`. */
export async function updateOwnSettings(
  db: Queryable,
  id: string,
  { timezone, previews, contentFull, userKeys, actingUsers, scimUserId }: TenantSettings,
): Promise<Tenant> {
  return db.one<Tenant>(
    `update tenant.tenants set timezone = $2, previews_enabled = $3, previews_max_chars = $4,
       user_keys_enabled = $5, user_keys_max = $6, user_keys_max_days = $7, content_full = $8,
       acting_users = $9, scim_user_id = $10, updated_at = now()
     where id = $1
     returning ${tenantColumns}`,
    [
      ...[id, timezone, previews.enabled, previews.max_chars],
      ...[userKeys.enabled, userKeys.max, userKeys.max_days, contentFull, actingUsers, scimUserId],
    ],
  );
}

/** The database computes the windows of budgets, and it lacks some time zones of JavaScript. Throws `invalid_value`. */
export async function assertTimezone(db: Queryable, timezone: string): Promise<void> {
  await db.query('select now() at time zone $1', [timezone]).catch(refuseUnknownTimezone);
}
