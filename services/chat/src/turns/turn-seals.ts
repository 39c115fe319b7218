import type { Target } from '../catalogue/target.ts';
import type { ApiName } from '@gatehouse/dialects/dialects';
import { readsSeals } from '../providers/makers.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { RunSeals } from '../providers/run-seals.ts';
import type { TenantSettings } from '../shared/tenant-settings.ts';

export interface SealDependencies {
  providers: ProviderRegistry;
  seals: { of: (api: ApiName, text: Buffer, tenantId: string) => Promise<RunSeals> };
}

interface SealTurn {
  dialect: { name: ApiName };
  /** The text of the request, with everything that it goes on from. */
  text: Buffer;
  target: Target;
  tenantId: string;
  settings: Pick<TenantSettings, 'ownKeys'>;
}

/** The makers of the seals of a turn; null where no model gets any as the client has them, or all have one maker. */
export async function withSeals(
  { providers, seals }: SealDependencies,
  { dialect: { name: api }, text, target, tenantId, settings }: SealTurn,
): Promise<RunSeals | null> {
  const isDivided = providers.dividesSeals(api, settings.ownKeys.length > 0);
  return isDivided && target.chain.some((model) => readsSeals(api, model))
    ? seals.of(api, text, tenantId)
    : null;
}
