import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { openProviderKey, sealProviderKey } from '@gatehouse/secrets/provider-key';
import type { ResealingOptions } from '@gatehouse/secrets/resealing';
import {
  ProviderKeySystemStore,
  replaceSealedKey,
  type SealedProviderKey,
} from './provider-key-system-store.ts';

/** How the keys of all tenants are encrypted again. */
export function providerKeysToReseal(
  { app, system }: { app: Pool; system: Pool },
  keyRing: KeyRing,
  log: Logger,
): ResealingOptions<SealedProviderKey> {
  const keys = new ProviderKeySystemStore(system);
  return {
    freshPrefix: keyRing.freshPrefix,
    find: (prefix, limit) => keys.findStale(prefix, limit),
    reseal: ({ sealed, ...row }) => sealProviderKey(keyRing, row, openProviderKey(keyRing, row, sealed)),
    replace: (key, again) => replaceSealedKey(app, key, again),
    log,
  };
}
