import { resourceReplies } from '@gatehouse/audited-changes/resource';
import type { CreateProviderKey, listProviderKeys } from '@gatehouse/contract/provider-keys';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { newId } from '@gatehouse/kit/ids';
import { sealProviderKey } from '@gatehouse/secrets/provider-key';
import type { z } from 'zod';
import { maxProviderKeys, checksPerMinute, checksInFlight } from '../bounds.ts';
import type { CheckProviderKey } from './provider-check-client.ts';
import {
  countProviderKeys,
  deleteProviderKey,
  insertProviderKey,
  type ProviderKeyStore,
} from './provider-key-store.ts';
import { prefixOf, showProviderKey } from './provider-key.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';
import type { UserNameStore } from '../shared/user-names-store.ts';

type List = Call<unknown, z.output<typeof listProviderKeys>>;
type Create = Call<CreateProviderKey>;

export interface ProviderKeyDependencies extends Pick<BaseDependencies, 'keyRing' | 'changes'> {
  keys: ProviderKeyStore;
  users: Pick<UserNameStore, 'idOf'>;
  check: CheckProviderKey;
}

/** `/v1/provider-keys*` */
export function providerKeyHandlers({
  keys,
  users,
  check,
  keyRing,
  changes,
}: ProviderKeyDependencies): Record<string, Handler> {
  const checking = new FairQueue(checksInFlight);
  const replies = resourceReplies({
    ...{ what: 'provider key', type: 'provider_key' as const, show: showProviderKey, changes },
  });
  return {
    'provider-keys.list': (call: List) =>
      replies.list(call, (page) => keys.list(tenantOf(call).tenantId, page)),

    'provider-keys.create': async (call: Create) => {
      const { tenantId, boundUser } = tenantOf(call);
      const { provider, key: text, models = null, user_id: name = null } = call.body;
      const userId = name === null ? null : await users.idOf(tenantId, name);
      if (boundUser !== null && boundUser !== userId)
        throw new AppError('user_mismatch', 'An API key bound to a user can only give keys for that user.', {
          param: 'user_id',
        });
      const id = newId();
      const sealed = sealProviderKey(keyRing, { tenantId, id }, text);
      await countCheck(keys, tenantId);
      await checking.run(tenantId, () => check(call, { id, provider, sealed, models }));
      const newKey = { id, tenantId, provider, prefix: prefixOf(text), models, userId, sealed };
      return replies.create(call, async (db) => {
        if ((await countProviderKeys(db, tenantId)) >= maxProviderKeys)
          throw new AppError(
            'limit_reached',
            `A tenant has at most ${maxProviderKeys} provider keys. Delete some.`,
          );
        return insertProviderKey(db, newKey);
      });
    },

    'provider-keys.delete': (call: Call) => replies.delete(call, deleteProviderKey),
  };
}

/** Throws `rate_limit_exceeded` if the tenant adds keys too fast. */
async function countCheck(keys: ProviderKeyStore, tenantId: string): Promise<void> {
  const { count, endsInMs } = await keys.countCheck(tenantId);
  if (count > checksPerMinute)
    throw new AppError('rate_limit_exceeded', `A tenant gives at most ${checksPerMinute} keys a minute.`, {
      retryAfterMs: endsInMs,
    });
}
