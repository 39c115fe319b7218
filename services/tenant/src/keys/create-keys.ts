import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Call } from '@gatehouse/http/app';
import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { expiring } from '../bounds.ts';
import { apiKeyHandlers } from './api-key-handlers.ts';
import { ApiKeyStore } from './api-key-store.ts';
import { ApiKeySystemStore } from './api-key-system-store.ts';
import { authenticate } from './authenticate-rpc.ts';
import { ChangeSystemStore, oldChanges } from './change-system-store.ts';
import { LastUseWriter } from './last-use-writer.ts';
import { describeKeys } from './describe-keys-rpc.ts';
import { listChanges } from './list-changes-rpc.ts';
import { createLookup } from './lookup.ts';
import { showPrincipal } from './key-views.ts';
import { personalKeyHandlers } from './personal-key-handlers.ts';
import { ownerApiKeyHandlers } from './owner-api-key-handlers.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';
import { UserNameStore } from '../shared/user-names-store.ts';

/** API keys: who may do what, since when a key was not used, and the changes of keys and tenants. */
export function createKeys(
  { log }: Shell,
  { app, system, known, unknown, changes, raise }: BaseDependencies,
  isTenant: (id: string) => Promise<boolean>,
) {
  const store = new ApiKeyStore(app);
  const systemStore = new ApiKeySystemStore(system);
  const finderOf = (pool: Pool) => {
    const toAuthenticate = new ApiKeySystemStore(pool);
    return (ids: readonly string[]) => toAuthenticate.findToAuthenticate(ids);
  };
  const find = createLookup({ known: finderOf(known), others: finderOf(unknown) }, ({ keyId }) => keyId);
  const lastUse = new LastUseWriter({ touch: (ids) => systemStore.touch(ids), log });
  const firstUse = new LastUseWriter({
    touch: (ids) => systemStore.noteFirstUse(ids),
    log,
    subject: 'renewed API keys',
  });
  return {
    handlers: {
      whoami: ({ principal }: Call) => Promise.resolve({ body: showPrincipal(principal) }),
      ...apiKeyHandlers({ apiKeys: store, users: new UserNameStore(app) }, changes),
      ...personalKeyHandlers({ app, changes }),
      ...ownerApiKeyHandlers({ apiKeys: systemStore, isTenant, changes }),
    },
    rpcs: {
      authenticate: authenticate({ find, lastUse, firstUse }),
      describeKeys: describeKeys(store),
      listChanges: listChanges(new ChangeSystemStore(known)),
    },
    parts: [
      lastUse,
      firstUse,
      new PeriodicWork({
        task: 'report keys that expire',
        log,
        everyMs: expiring.everyMs,
        round: async () => (await systemStore.raiseExpiring(expiring.batch, raise)) === expiring.batch,
      }),
      ...cleanUp(log, system, [oldChanges]),
    ],
  };
}
