import type { rotateApiKey } from '@gatehouse/contract/keys';
import type { CreatePersonalKey, listOwn } from '@gatehouse/contract/personal-keys';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { pageReply } from '@gatehouse/http/pagination';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { newKeyText } from '@gatehouse/identity/key-text';
import { nowMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { PageRequest } from '@gatehouse/kit/page';
import { withTenant } from '@gatehouse/pg/pool';
import type { z } from 'zod';
import { replaceSecret, revokeApiKey } from './api-key-store.ts';
import { keyCreated, keyRevoked, keyRotated } from './key-views.ts';
import {
  findAllowance,
  insertOwnKey,
  listPersonalKeys,
  lockOwnKey,
  type NewPersonalKey,
  type KeyOwner,
} from './personal-key-store.ts';
import { assertAllowed, boundUserOf, endOfOwnKey, scopesOfOwnKey, showOwnKey } from './personal-key.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';

type List = Call<unknown, z.output<typeof listOwn>>;
type Rotate = Call<z.output<typeof rotateApiKey>>;

const what = 'own API key';

/** `/v1/me/api-keys*`: people manage their own keys, and end those of programs. */
export function personalKeyHandlers({
  app,
  changes,
}: Pick<BaseDependencies, 'app' | 'changes'>): Record<string, Handler> {
  return {
    'me.api-keys.list': async (call: List) => {
      const user = userOf(call);
      const read = (page: PageRequest) =>
        withTenant(app, user.tenantId, (db) => listPersonalKeys(db, user, page));
      return pageReply(call, read, showOwnKey);
    },

    'me.api-keys.create': async (call: Call<CreatePersonalKey>) => {
      const { text, ...key } = newOwnKey(call);
      return changes.change(call, async (db) => {
        const { has, ...allowed } = await findAllowance(db, key);
        assertAllowed(allowed, has);
        const made = await insertOwnKey(db, { ...key, expiresAt: endOfOwnKey(call.body, allowed, nowMs()) });
        if (made === null) throw keyEnded('The key, or the session, that would make it has ended.');
        return { body: { ...showOwnKey(made), key: text }, changes: [keyCreated(made)] };
      });
    },

    'me.api-keys.rotate': async (call: Rotate) => {
      const [user, id] = [userOf(call), resourceId(call.params, what)];
      return changes.change(call, async (db) => {
        const key = orNotFound(await lockOwnKey(db, user, id), what);
        if (!key.isOwn) throw keyEnded('The key of a program is renewed by the program alone.');
        assertAllowed({ ...(await findAllowance(db, user)), max: Infinity }, 0);
        // The caller receives the new secret, so the same rules as for the creation of a key apply.
        scopesOfOwnKey(tenantOf(call), key.scopes);
        const { text, secretSha256 } = newKeyText(key.keyId);
        const overlapSeconds = call.body.overlap_seconds;
        const changed = await replaceSecret(db, { id, secretSha256, overlapSeconds });
        if (changed === null) throw keyEnded('A revoked or expired API key cannot be rotated.');
        const after = { ...changed.after, isOwn: true };
        return { body: { ...showOwnKey(after), key: text }, changes: [keyRotated(changed)] };
      });
    },

    'me.api-keys.revoke': async (call: Call) => {
      const [user, id] = [userOf(call), resourceId(call.params, what)];
      return changes.change(call, async (db) => {
        const { isOwn } = orNotFound(await lockOwnKey(db, user, id), what);
        const changed = orNotFound(await revokeApiKey(db, id), what);
        return { body: showOwnKey({ ...changed.after, isOwn }), changes: keyRevoked(changed) };
      });
    },
  };
}

function userOf(call: Pick<Call, 'principal'>): KeyOwner {
  const principal = tenantOf(call);
  return { tenantId: principal.tenantId, userId: boundUserOf(principal) };
}

function newOwnKey(call: Call<CreatePersonalKey>): Omit<NewPersonalKey, 'expiresAt'> & { text: string } {
  const { name, scopes } = call.body;
  const principal = tenantOf(call);
  const { keyId: parentId, sessionId = null } = principal;
  return {
    ...{ ...userOf(call), ...newKeyText(), id: newId(), name },
    ...{ scopes: scopesOfOwnKey(principal, scopes), parentId, sessionId },
  };
}

function keyEnded(message: string): AppError {
  return new AppError('key_revoked', message);
}
