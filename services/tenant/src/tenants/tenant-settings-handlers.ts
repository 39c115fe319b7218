import type { Changes } from '@gatehouse/audited-changes/changes';
import type { PatchOwnSettings } from '@gatehouse/contract/tenants';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { orNotFound } from '@gatehouse/http/resource';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { findTenant, lockAndChange, updateOwnSettings } from './tenant-store.ts';
import { showOwnSettings, tenantUpdated } from './tenant-views.ts';
import { patchSettings } from './tenant.ts';

const what = 'tenant';

/** `/v1/tenant/settings`: admins read and change their part of the tenant's settings. */
export function tenantSettingsHandlers(app: Pool, changes: Changes): Record<string, Handler> {
  return {
    'tenant.settings.get': async (call: Call) => {
      const { tenantId } = tenantOf(call);
      const tenant = await withTenant(app, tenantId, (db) => findTenant(db, tenantId));
      return { body: showOwnSettings(orNotFound(tenant, what)) };
    },

    'tenant.settings.patch': async (call: Call<PatchOwnSettings>) => {
      const { tenantId } = tenantOf(call);
      return changes.change(call, async (db) => {
        const changed = await lockAndChange(
          db,
          tenantId,
          (current) => patchSettings(current, call.body),
          (settings) => updateOwnSettings(db, tenantId, settings),
        );
        const both = orNotFound(changed, what);
        return { body: showOwnSettings(both.after), changes: [tenantUpdated(both)] };
      });
    },
  };
}
