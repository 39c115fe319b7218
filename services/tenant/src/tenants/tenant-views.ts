import type { Change } from '@gatehouse/audited-changes/audit-entry';
import type * as tenants from '@gatehouse/contract/tenants';

import { contentOf, type Tenant } from './tenant.ts';

/** The wire shape of tenants, and their changes for the audit log. */

export function showTenant(tenant: Tenant): tenants.Tenant {
  return {
    id: tenant.id,
    slug: tenant.slug,
    name: tenant.name,
    status: tenant.status,
    limits: isEmpty(tenant.memoryLimits) ? tenant.limits : { ...tenant.limits, memory: tenant.memoryLimits },
    budget: tenant.budget,
    allowed_models: tenant.allowedModels === null ? null : [...tenant.allowedModels],
    timezone: tenant.timezone,
    retention_days: tenant.retentionDays,
    previews: tenant.previews,
    content: contentOf(tenant),
    user_keys: tenant.userKeys,
    acting_users: tenant.actingUsers,
    scim_user_id: tenant.scimUserId,
    created_at: tenant.createdAt.toISOString(),
    updated_at: tenant.updatedAt.toISOString(),
  };
}

export function showOwnSettings(tenant: Tenant): tenants.AdminTenantSettings {
  const { timezone, previews } = tenant;
  return {
    ...{ timezone, previews, content: contentOf(tenant), user_keys: tenant.userKeys },
    ...{ acting_users: tenant.actingUsers, scim_user_id: tenant.scimUserId },
  };
}

function isEmpty(fields: object): boolean {
  return Object.keys(fields).length === 0;
}

export function tenantCreated(tenant: Tenant): Change {
  const { id } = tenant;
  return { action: 'tenant.created', id, tenantId: id, before: null, after: showTenant(tenant) };
}

export function tenantUpdated({ before, after }: Record<'before' | 'after', Tenant>): Change {
  const { id } = after;
  return {
    action: 'tenant.updated',
    id,
    tenantId: id,
    before: showTenant(before),
    after: showTenant(after),
  };
}
