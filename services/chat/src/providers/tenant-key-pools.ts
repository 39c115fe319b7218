import { cacheKey } from '@gatehouse/kit/cache-key';
import { RecentMap } from '@gatehouse/kit/recent-map';
import { openProviderKey } from '@gatehouse/secrets/provider-key';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { takesKeys, type Provider } from '../catalogue/provider-schema.ts';
import { Choices } from './choice.ts';
import { fixedHeaders, noCredentials, type Credentials } from './credentials.ts';
import { KeyPool } from './key-pool.ts';
import { keyHeaders } from './provider-kinds.ts';
import type { TenantProviderKey } from '../shared/tenant-settings.ts';
import { maxTenantKeys } from '../bounds.ts';

export interface TenantKeyPoolsOptions {
  keyRing: KeyRing;
  /** Called when a provider refuses a key, and when it accepts one. */
  note: (id: string, use: { refused: boolean }) => void;
}

/** The own keys of tenants, each a pool of one: how it rests is a matter of its tenant alone. */
export class TenantKeyPools {
  readonly #options: TenantKeyPoolsOptions;
  readonly #choices = new Choices();
  /** By key and kind of provider. */
  readonly #pools = new RecentMap<KeyPool>(maxTenantKeys);

  constructor(options: TenantKeyPoolsOptions) {
    this.#options = options;
  }

  /** The pool of a key at its provider. */
  poolOf(provider: Provider, tenantId: string, key: TenantProviderKey): KeyPool {
    // A changed catalogue may have another kind of provider by the name.
    const name = cacheKey(key.id, provider.kind);
    return this.#pools.getOrMake(name, () => this.#create(provider, tenantId, key));
  }

  #create(provider: Provider, tenantId: string, key: TenantProviderKey): KeyPool {
    const { note } = this.#options;
    return new KeyPool({
      provider: provider.name,
      keys: [{ id: `own ${key.id}`, credentials: this.#credentialsOf(provider, tenantId, key), weight: 1 }],
      choices: this.#choices,
      isOwn: true,
      onFailing: () => note(key.id, { refused: true }),
      onUsed: (_position, outcome) => {
        if (outcome === 'accepted') note(key.id, { refused: false });
      },
    });
  }

  #credentialsOf(provider: Provider, tenantId: string, { id, sealed }: TenantProviderKey): Credentials {
    if (!takesKeys(provider)) return unusable;
    try {
      const key = openProviderKey(this.#options.keyRing, { tenantId, id }, sealed);
      return fixedHeaders(keyHeaders(provider.kind, key));
    } catch {
      return unusable;
    }
  }
}

/** An unusable key: the provider takes no key, or the key ring lacks the one it is encrypted with. */
const unusable = noCredentials('the key of the tenant cannot be used');
