import type { Changes } from '@gatehouse/audited-changes/changes';
import type { CreateTenant, listTenants, PatchTenant } from '@gatehouse/contract/tenants';
import type { Call, Handler } from '@gatehouse/http/app';
import { pageReply } from '@gatehouse/http/pagination';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { newId } from '@gatehouse/kit/ids';
import type { z } from 'zod';
import { newApiKey } from '../keys/api-key.ts';
import { scopesForNewKey } from '../keys/key-rules.ts';
import { withoutNulls } from '../limits/stored-limits.ts';
import { changedTexts, patchSettings, type NewTenant } from './tenant.ts';
import { changeTenant, insertTenantWithKey, type TenantSystemStore } from './tenant-system-store.ts';
import { keyCreated } from '../keys/key-views.ts';
import { showTenant, tenantCreated, tenantUpdated } from './tenant-views.ts';

type List = Call<unknown, z.output<typeof listTenants>>;

const what = 'tenant';
/** Before the settings of its creation. */
const newTexts = { previews: { enabled: true, max_chars: 500 }, contentFull: false };

/** `/internal/v1/owner/tenants*`: an owner creates, limits, suspends and archives tenants. */
export function ownerTenantHandlers(tenants: TenantSystemStore, changes: Changes): Record<string, Handler> {
  return {
    'owner.tenants.list': (call: List) => {
      const { status = null, q = null } = call.query;
      return pageReply(call, (page) => tenants.list({ ...page, status, q }), showTenant);
    },

    'owner.tenants.create': async (call: Call<CreateTenant>) => {
      const { body, principal } = call;
      const { memory, ...limits } = body.limits;
      const newTenant: NewTenant = {
        id: newId(),
        slug: body.slug,
        name: body.name,
        status: 'active',
        limits: withoutNulls(limits),
        memoryLimits: withoutNulls(memory ?? {}),
        budget: body.budget,
        allowedModels: body.allowed_models,
        timezone: body.timezone,
        retentionDays: body.retention_days,
        ...changedTexts(newTexts, body),
        userKeys: body.user_keys,
        actingUsers: body.acting_users,
        scimUserId: body.scim_user_id,
      };
      const { text, key: firstKey } = newApiKey({
        ...{ tenantId: newTenant.id, name: 'First admin key', role: 'admin' as const },
        ...{ scopes: scopesForNewKey('admin', undefined), createdBy: principal.keyId },
      });
      return changes.change(call, async (db) => {
        const { tenant, adminKey } = await insertTenantWithKey(db, newTenant, firstKey);
        return {
          body: { ...showTenant(tenant), admin_key: text },
          headers: { location: `/internal/v1/owner/tenants/${tenant.id}` },
          changes: [tenantCreated(tenant), keyCreated(adminKey)],
        };
      });
    },

    'owner.tenants.get': async ({ params }: Call) => {
      const tenant = await tenants.find(resourceId(params, what));
      return { body: showTenant(orNotFound(tenant, what)) };
    },

    'owner.tenants.patch': async (call: Call<PatchTenant>) => {
      const id = resourceId(call.params, what);
      return changes.change(call, async (db) => {
        const setsTimezone = call.body.timezone !== undefined;
        const changed = orNotFound(
          await changeTenant(db, id, (current) => patchSettings(current, call.body), { setsTimezone }),
          what,
        );
        return { body: showTenant(changed.after), changes: [tenantUpdated(changed)] };
      });
    },
  };
}
