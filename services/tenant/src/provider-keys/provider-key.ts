import type { ProviderKey as ProviderKeyView } from '@gatehouse/contract/provider-keys';

/** A tenant's own key for a provider, as it is shown. */
export interface ProviderKey {
  id: string;
  tenantId: string;
  provider: string;
  prefix: string;
  models: readonly string[] | null;
  userId: string | null;
  failing: boolean;
  createdAt: Date;
  lastUsedAt: Date | null;
}

export interface NewProviderKey extends Pick<
  ProviderKey,
  'id' | 'tenantId' | 'provider' | 'prefix' | 'models' | 'userId'
> {
  /** Encrypted. */
  sealed: Buffer;
}

/** The length of a key's visible part. */
const prefixChars = 8;

/** The beginning of a key, of which three quarters stay hidden. */
export function prefixOf(key: string): string {
  return key.slice(0, Math.min(prefixChars, Math.floor(key.length / 4)));
}

export function showProviderKey(key: ProviderKey): ProviderKeyView {
  return {
    ...{ id: key.id, provider: key.provider, prefix: key.prefix },
    models: key.models === null ? null : [...key.models],
    user_id: key.userId,
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    status: key.failing ? 'failing' : 'active',
  };
}
