import type { Changes } from '@gatehouse/audited-changes/changes';
import type { Peer } from '@gatehouse/grpc/client';
import type { Pool } from '@gatehouse/pg/pool';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { openProviderKey, sealProviderKey } from '@gatehouse/secrets/provider-key';
import { resealing } from '@gatehouse/secrets/resealing';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import type { Shell } from '@gatehouse/shell/shell';
import { noteProviderKeys } from './note-provider-keys-rpc.ts';
import { providerCheck } from './provider-check-peer.ts';
import { providerKeyHandlers } from './provider-key-handlers.ts';
import { ProviderKeyStore } from './provider-key-store.ts';
import { ProviderKeySystemStore, replaceSealedKey } from './provider-key-system-store.ts';

export interface ProviderKeysOptions {
  app: Pool;
  system: Pool;
  /** A pool of `tenant_app` for the settings of tenants, which completions wait for. */
  settings: Pool;
  keyRing: KeyRing;
  chat: Peer<ChatServiceClient>;
  changes: Changes;
  raise: RaiseAlert;
}

/** Keys of tenants' own for model providers. */
export function createProviderKeys(
  { log }: Shell,
  { app, system, settings, keyRing, chat, changes, raise }: ProviderKeysOptions,
) {
  const ofAll = new ProviderKeySystemStore(system);
  const usable = new ProviderKeyStore(settings);
  return {
    handlers: providerKeyHandlers({
      ...{ keys: new ProviderKeyStore(app), check: providerCheck(chat), keyRing, changes },
    }),
    rpcs: { noteProviderKeys: noteProviderKeys(ofAll, raise) },
    parts: [
      resealing({
        freshPrefix: keyRing.freshPrefix,
        find: (prefix, limit) => ofAll.findStale(prefix, limit),
        reseal: ({ sealed, ...row }) => sealProviderKey(keyRing, row, openProviderKey(keyRing, row, sealed)),
        replace: (key, again) => replaceSealedKey(app, key, again),
        log,
      }),
    ],
    findKeys: (tenantId: string) => usable.findAll(tenantId),
  };
}
