import { AllowedModels } from '@gatehouse/contract/allowed-models';
import { tenantOf, type Rpc } from '@gatehouse/grpc/rpc';
import {
  KeyVerdict,
  type CheckProviderKeyRequest,
  type CheckProviderKeyResponse,
} from '@gatehouse/proto/chat/v1/chat';
import { openProviderKey } from '@gatehouse/secrets/provider-key';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { deploymentsOf, type Catalogue, type Model } from '../catalogue/catalogue.ts';
import { takesKeys, type Provider } from '../catalogue/provider-schema.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import type { ProviderRegistry } from './registry.ts';

export interface KeyCheckDependencies {
  catalogue: Catalogue;
  providers: ProviderRegistry;
  settings: TenantSettingsClient;
  keyRing: KeyRing;
}

/** Whether a model can be called at the provider with this name. */
function isAt(name: string, model: Model): boolean {
  return deploymentsOf(model).some(({ provider }) => provider.name === name);
}

/** `CheckProviderKey`: whether a tenant's own key for a provider can be used. */
export function checkProviderKey({
  catalogue,
  providers,
  settings,
  keyRing,
}: KeyCheckDependencies): Rpc<CheckProviderKeyRequest, CheckProviderKeyResponse> {
  return {
    callers: ['tenant'],
    async handle(request, context) {
      const { tenantId } = tenantOf(context);
      const { allowedModels } = await settings.getNow(tenantId, context);
      const usable = [...catalogue.models.values()].filter(
        (model) => catalogue.find(model.id, allowedModels) === model && isAt(request.provider, model),
      );
      // A provider without usable models for the tenant is as unknown as a missing one.
      const provider = catalogue.providers.find(({ name }) => name === request.provider);
      if (provider === undefined || usable.length === 0) return { verdict: KeyVerdict.UNKNOWN_PROVIDER };
      if (!takesKeys(provider)) return { verdict: KeyVerdict.NO_KEYS };
      const unknownModel = request.models.find((entry) => {
        const entries = new AllowedModels([entry]);
        const named = catalogue.entryOf(entry, allowedModels);
        return (
          !usable.some((model) => entries.has(model.id)) &&
          (named === undefined || !isAt(request.provider, named))
        );
      });
      if (unknownModel !== undefined) return { verdict: KeyVerdict.UNCHECKED, unknownModel };
      const key = openProviderKey(keyRing, { tenantId, id: request.id }, request.sealed);
      return { verdict: await verdictOf(provider, key) };
    },
  };

  async function verdictOf(provider: Provider, key: string): Promise<KeyVerdict> {
    const accepted = await providers.acceptsKey(provider, key);
    if (accepted === null) return KeyVerdict.UNCHECKED;
    return accepted ? KeyVerdict.ACCEPTED : KeyVerdict.REFUSED;
  }
}
