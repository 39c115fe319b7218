import type { CreateApiKey, listApiKeys, PatchApiKey, rotateApiKey } from '@gatehouse/contract/keys';
import type { Changes } from '@gatehouse/audited-changes/changes';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { pageReply } from '@gatehouse/http/pagination';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { newKeyText } from '@gatehouse/identity/key-text';
import { toolsetsOf, type TenantPrincipal } from '@gatehouse/identity/principal';
import { nowMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { z } from 'zod';
import { assertInFuture, assertMayGive, patchedKey, scopesForNewKey, type Power } from './key-rules.ts';
import { withoutNulls } from '../limits/stored-limits.ts';
import type { UserNameStore } from '../shared/user-names-store.ts';
import { newApiKey } from './api-key.ts';
import {
  changeApiKey,
  insertApiKey,
  replaceSecret,
  revokeApiKey,
  type ApiKeyStore,
} from './api-key-store.ts';
import { keyCreated, keyRevoked, keyRotated, keyUpdated, showApiKey } from './key-views.ts';

type List = Call<unknown, z.output<typeof listApiKeys>>;
type Create = Call<CreateApiKey>;
type Patch = Call<PatchApiKey>;
type Rotate = Call<z.output<typeof rotateApiKey>>;

const what = 'API key';

/** `/v1/api-keys*`: a tenant's admin manages the tenant's own keys. */
export function apiKeyHandlers(
  { apiKeys, users }: { apiKeys: ApiKeyStore; users: Pick<UserNameStore, 'idOf'> },
  changes: Changes,
): Record<string, Handler> {
  return {
    'api-keys.list': (call: List) => {
      const { user_id: user = null } = call.query;
      return pageReply(call, (page) => apiKeys.list(tenantOf(call).tenantId, { ...page, user }), showApiKey);
    },

    'api-keys.create': async (call: Create) => {
      const { body } = call;
      const creator = tenantOf(call);
      const { user_id: name = null, toolsets = toolsetsOf(creator) } = body;
      const userId = name === null ? null : await users.idOf(creator.tenantId, name);
      const power = { scopes: scopesForNewKey(body.role, body.scopes), userId, toolsets };
      const expiresAt = body.expires_at ?? null;
      assertInFuture(expiresAt, nowMs());
      assertMayGive(powerOf(creator), power);
      const { text, key: newKey } = newApiKey({
        ...{ tenantId: creator.tenantId, name: body.name, role: body.role, ...power, expiresAt },
        ...{ limits: body.limits ? withoutNulls(body.limits) : null, budget: body.budget ?? null },
        clientSettings: body.client_settings ?? null,
        createdBy: creator.keyId,
      });
      return changes.change(call, async (db) => {
        const key = await insertApiKey(db, newKey);
        return {
          body: { ...showApiKey(key), key: text },
          headers: { location: `/v1/api-keys/${key.id}` },
          changes: [keyCreated(key)],
        };
      });
    },

    'api-keys.get': async (call: Call) => {
      const key = await apiKeys.find(tenantOf(call).tenantId, resourceId(call.params, what));
      return { body: showApiKey(orNotFound(key, what)) };
    },

    'api-keys.patch': async (call: Patch) => {
      const [id, changer] = [resourceId(call.params, what), powerOf(tenantOf(call))];
      return changes.change(call, async (db) => {
        const changed = orNotFound(
          await changeApiKey(db, id, (key) => patchedKey(key, call.body, changer)),
          what,
        );
        return { body: showApiKey(changed.after), changes: [keyUpdated(changed)] };
      });
    },

    'api-keys.revoke': async (call: Call) => {
      const id = resourceId(call.params, what);
      return changes.change(call, async (db) => {
        const changed = orNotFound(await revokeApiKey(db, id), what);
        return { body: showApiKey(changed.after), changes: keyRevoked(changed) };
      });
    },

    'api-keys.rotate': async (call: Rotate) => {
      const principal = tenantOf(call);
      const key = orNotFound(await apiKeys.find(principal.tenantId, resourceId(call.params, what)), what);
      // The caller receives the new secret, so the same rules as for the creation of a key apply.
      assertMayGive(powerOf(principal), key);
      const { text, secretSha256 } = newKeyText(key.keyId);
      const overlapSeconds = call.body.overlap_seconds;
      return changes.change(call, async (db) => {
        const changed = await replaceSecret(db, { id: key.id, secretSha256, overlapSeconds });
        if (changed === null)
          throw new AppError(
            'key_revoked',
            'A revoked or expired API key, or one of the logins of a person, cannot be rotated.',
          );
        return { body: { ...showApiKey(changed.after), key: text }, changes: [keyRotated(changed)] };
      });
    },
  };
}

function powerOf(principal: TenantPrincipal): Power {
  return { scopes: principal.scopes, userId: principal.boundUser, toolsets: toolsetsOf(principal) };
}
