import type { Changes } from '@gatehouse/audited-changes/changes';
import type { createOwnerApiKey, listOwnerApiKeys } from '@gatehouse/contract/keys';
import type { Call, Handler } from '@gatehouse/http/app';
import { decodeCursor, encodeCursor, pageOf } from '@gatehouse/http/pagination';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { nowMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { z } from 'zod';
import { newApiKey } from './api-key.ts';
import { assertInFuture, assertMayGive, scopesForNewKey } from './key-rules.ts';
import { insertApiKey } from './api-key-store.ts';
import { revokeAnyApiKey, type ApiKeySystemStore } from './api-key-system-store.ts';
import { keyCreated, keyRevoked, showOwnerApiKey } from './key-views.ts';

type List = Call<unknown, z.output<typeof listOwnerApiKeys>>;
type CreateBody = z.output<typeof createOwnerApiKey>;

export interface OwnerApiKeyDependencies {
  apiKeys: ApiKeySystemStore;
  isTenant: (id: string) => Promise<boolean>;
  changes: Changes;
}

const what = 'API key';

/** `/internal/v1/owner/api-keys*`: an owner lists, creates and revokes the keys of owners and of tenants' admins. */
export function ownerApiKeyHandlers({
  apiKeys,
  isTenant,
  changes,
}: OwnerApiKeyDependencies): Record<string, Handler> {
  return {
    'owner.api-keys.list': async ({ query }: List) => {
      const { rows, lookedTo } = await apiKeys.list({
        roles: query.role === undefined ? ['owner', 'admin'] : [query.role],
        tenantId: query.tenant_id ?? null,
        status: query.status ?? null,
        unusedSince: query.unused_since ?? null,
        limit: query.limit,
        before: decodeCursor(query.cursor),
      });
      const page = pageOf(rows, query.limit, showOwnerApiKey);
      if (page.has_more || lookedTo === null) return { body: page };
      return { body: { ...page, has_more: true, next_cursor: encodeCursor(lookedTo) } };
    },

    'owner.api-keys.create': async (call: Call<CreateBody>) => {
      const { body, principal } = call;
      const scopes = scopesForNewKey(body.role, body.scopes);
      const expiresAt = body.expires_at ?? null;
      assertInFuture(expiresAt, nowMs());
      const tenantId = await tenantOfNewKey(body, isTenant);
      // An owner may grant the scopes of an admin without having them.
      if (body.role === 'owner') {
        const unbound = { userId: null, toolsets: null };
        assertMayGive({ scopes: principal.scopes, ...unbound }, { scopes, ...unbound });
      }
      const { name, role } = body;
      const { text, key: newKey } = newApiKey({
        ...{ tenantId, name, role, scopes, expiresAt, createdBy: principal.keyId },
      });
      return changes.change(call, async (db) => {
        const key = await insertApiKey(db, newKey);
        return { body: { ...showOwnerApiKey(key), key: text }, changes: [keyCreated(key)] };
      });
    },

    'owner.api-keys.revoke': async (call: Call) => {
      const id = resourceId(call.params, what);
      return changes.change(call, async (db) => {
        const changed = orNotFound(await revokeAnyApiKey(db, id), what);
        return { body: showOwnerApiKey(changed.after), changes: keyRevoked(changed) };
      });
    },
  };
}

/** The tenant of the new key. Throws a 400 when `role` and `tenant_id` don't match, or for an unknown tenant. */
async function tenantOfNewKey(
  body: CreateBody,
  isTenant: OwnerApiKeyDependencies['isTenant'],
): Promise<string | null> {
  const tenantId = body.tenant_id?.toLowerCase() ?? null;
  if (body.role === 'owner') {
    if (tenantId === null) return null;
    throw wrongTenant('invalid_value', 'An owner key belongs to no tenant: leave tenant_id out.');
  }
  if (tenantId === null)
    throw wrongTenant('missing_required_parameter', 'An admin key needs the tenant_id it is for.');
  if (!(await isTenant(tenantId)))
    throw wrongTenant('invalid_value', 'Invalid value for tenant_id: there is no such tenant.');
  return tenantId;
}

function wrongTenant(code: 'invalid_value' | 'missing_required_parameter', message: string): AppError {
  return new AppError(code, message, { param: 'tenant_id' });
}
