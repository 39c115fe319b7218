import { Batched } from '@gatehouse/kit/batched';
import { noteProviderKeys } from './note-provider-keys-rpc.ts';
import { providerCheck } from './provider-check-client.ts';
import { providerKeyHandlers } from './provider-key-handlers.ts';
import { ProviderKeyStore } from './provider-key-store.ts';
import { ProviderKeySystemStore } from './provider-key-system-store.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';
import { UserNameStore } from '../shared/user-names-store.ts';

/** Keys of tenants' own for model providers. */
export function createProviderKeys({ app, system, known, keyRing, chat, changes, raise }: BaseDependencies) {
  const systemStore = new ProviderKeySystemStore(system);
  const usable = new ProviderKeySystemStore(known);
  const usableOf = new Batched(async (tenantIds: readonly string[]) => {
    const byTenant = Map.groupBy(
      await usable.findUsable([...new Set(tenantIds)]),
      ({ tenantId }) => tenantId,
    );
    return tenantIds.map((id) => byTenant.get(id) ?? []);
  });
  return {
    handlers: providerKeyHandlers({
      ...{ keys: new ProviderKeyStore(app), users: new UserNameStore(app), check: providerCheck(chat) },
      ...{ keyRing, changes },
    }),
    rpcs: { noteProviderKeys: noteProviderKeys(systemStore, raise) },
    findKeys: (tenantId: string) => usableOf.get(tenantId),
  };
}
