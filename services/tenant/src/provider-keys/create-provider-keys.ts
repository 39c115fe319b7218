import type { Changes } from '@gatehouse/audited-changes/changes';
import type { RpcClient } from '@gatehouse/grpc/client';
import { Batched } from '@gatehouse/kit/batched';
import type { Pool } from '@gatehouse/pg/pool';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import { noteProviderKeys } from './note-provider-keys-rpc.ts';
import { providerCheck } from './provider-check-client.ts';
import { providerKeyHandlers } from './provider-key-handlers.ts';
import { ProviderKeyStore } from './provider-key-store.ts';
import { ProviderKeySystemStore } from './provider-key-system-store.ts';

export interface ProviderKeysOptions {
  app: Pool;
  system: Pool;
  /** A pool of `tenant_system` for what completions wait for, many tenants at once. */
  known: Pool;
  keyRing: KeyRing;
  chat: RpcClient<ChatServiceClient>;
  changes: Changes;
  raise: RaiseAlert;
}

/** Keys of tenants' own for model providers. */
export function createProviderKeys({
  app,
  system,
  known,
  keyRing,
  chat,
  changes,
  raise,
}: ProviderKeysOptions) {
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
      ...{ keys: new ProviderKeyStore(app), check: providerCheck(chat), keyRing, changes },
    }),
    rpcs: { noteProviderKeys: noteProviderKeys(systemStore, raise) },
    findKeys: (tenantId: string) => usableOf.get(tenantId),
  };
}
