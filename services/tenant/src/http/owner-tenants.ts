import type { CreateTenant, listTenants, PatchTenant } from '@gatehouse/contract/tenants';
import type { Call, Handler } from '@gatehouse/http/app';
import { decodeCursor, pageOf } from '@gatehouse/http/pagination';
import { newKeyText } from '@gatehouse/identity/key-text';
import { newId } from '@gatehouse/kit/ids';
import type { z } from 'zod';
import { scopesForNewKey } from '../domain/key-rules.ts';
import { patchSettings, withoutNulls } from '../domain/tenant.ts';
import type { TenantSystemStore } from '../store/tenant-system-store.ts';
import { keyCreated, tenantCreated, tenantUpdated } from './changes.ts';
import { found, resourceId } from './resource-id.ts';
import { showTenant } from './views.ts';

type List = Call<unknown, z.output<typeof listTenants>>;

const what = 'tenant';

/** `/internal/v1/owner/tenants*`: the owner makes, limits, suspends and archives tenants. */
export function ownerTenantHandlers(tenants: TenantSystemStore): Record<string, Handler> {
  return {
    'owner.tenants.list': async ({ query }: List) => {
      const rows = await tenants.list({
        status: query.status ?? null,
        q: query.q ?? null,
        limit: query.limit,
        before: decodeCursor(query.cursor),
      });
      return { body: pageOf(rows, query.limit, showTenant) };
    },

    'owner.tenants.create': async ({ body, principal, conclude }: Call<CreateTenant>) => {
      const { text, keyId, secretSha256 } = newKeyText();
      return tenants.insert(
        {
          id: newId(),
          slug: body.slug,
          name: body.name,
          status: 'active',
          limits: withoutNulls(body.limits),
          budget: body.budget,
          allowedModels: body.allowed_models,
          timezone: body.timezone,
          retentionDays: body.retention_days,
          previews: body.previews,
        },
        {
          id: newId(),
          keyId,
          secretSha256,
          name: 'First admin key',
          role: 'admin',
          scopes: scopesForNewKey('admin', undefined),
          userId: null,
          limits: null,
          budget: null,
          expiresAt: null,
          createdBy: principal.keyId,
        },
        conclude(({ tenant, adminKey }) => ({
          body: { ...showTenant(tenant), admin_key: text },
          headers: { location: `/internal/v1/owner/tenants/${tenant.id}` },
          changes: [tenantCreated(tenant), keyCreated(adminKey)],
        })),
      );
    },

    'owner.tenants.get': async ({ params }: Call) => {
      const tenant = await tenants.find(resourceId(params, what));
      return { body: showTenant(found(tenant, what)) };
    },

    'owner.tenants.patch': async ({ params, body, conclude }: Call<PatchTenant>) => {
      const reply = await tenants.change(
        resourceId(params, what),
        (current) => patchSettings(current, body),
        conclude((changed) => ({ body: showTenant(changed.after), changes: [tenantUpdated(changed)] })),
      );
      return found(reply, what);
    },
  };
}
