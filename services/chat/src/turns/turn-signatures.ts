import type { Target } from '../catalogue/target.ts';
import type { ApiName } from '@gatehouse/dialects/dialects';
import { readsSignatures } from '../providers/origins.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { SignatureOrigins } from '../providers/signature-origins.ts';
import type { TenantSettings } from '../shared/tenant-settings.ts';

export interface SignatureDependencies {
  providers: ProviderRegistry;
  signatures: { of: (api: ApiName, text: Buffer, tenantId: string) => Promise<SignatureOrigins> };
}

interface SignatureTurn {
  dialect: { name: ApiName };
  /** The text of the request, with everything that it goes on from. */
  text: Buffer;
  target: Target;
  tenantId: string;
  settings: Pick<TenantSettings, 'ownKeys'>;
}

/** The origins of the signatures of a turn; null where no model gets any as the client has them, or all have one origin. */
export async function withSignatures(
  { providers, signatures }: SignatureDependencies,
  { dialect: { name: api }, text, target, tenantId, settings }: SignatureTurn,
): Promise<SignatureOrigins | null> {
  const isDivided = providers.dividesSignatures(api, settings.ownKeys.length > 0);
  return isDivided && target.chain.some((model) => readsSignatures(api, model))
    ? signatures.of(api, text, tenantId)
    : null;
}
