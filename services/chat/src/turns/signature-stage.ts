import type { Target } from '../catalogue/target.ts';
import type { ApiName } from '@gatehouse/dialects/dialects';
import { readsSignatures } from '../providers/signature-origins.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { SignatureOrigins } from '../providers/signature-origins.ts';
import type { TenantSettings } from '../shared/tenant-settings.ts';
import type { TurnStage } from './turn-stage.ts';

export interface SignatureDependencies {
  providers: ProviderRegistry;
  signatures: { of: (api: ApiName, text: Buffer, tenantId: string) => Promise<SignatureOrigins> };
}

interface SignedRequest {
  api: ApiName;
  /** The text of the request, with everything it continues. */
  text: Buffer;
  target: Target;
  tenantId: string;
  settings: Pick<TenantSettings, 'ownKeys'>;
}

/** Looks up the origins of the reasoning signatures in a client's request. Services send no signatures. */
export function signatureStage(dependencies: SignatureDependencies): TurnStage {
  return {
    prepare(turn, { text }) {
      const { dialect, target, settings, actor } = turn;
      if (text === null) return;
      const signed = { api: dialect.name, text, target, tenantId: actor.tenantId, settings };
      return signatureOrigins(dependencies, signed)?.then((origins) => {
        turn.signatures = origins;
      });
    },
  };
}

/** The origins of signatures; null where no model gets any as the client has them, or all share one. */
export function signatureOrigins(
  { providers, signatures }: SignatureDependencies,
  { api, text, target, tenantId, settings }: SignedRequest,
): Promise<SignatureOrigins> | null {
  const isDivided = providers.dividesSignatures(api, settings.ownKeys.length > 0);
  return isDivided && target.chain.some((model) => readsSignatures(api, model))
    ? signatures.of(api, text, tenantId)
    : null;
}
