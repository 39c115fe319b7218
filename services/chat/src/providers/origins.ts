import { createHash } from 'node:crypto';
import { cacheKey } from '@gatehouse/kit/cache-key';
import type { Model } from '../catalogue/catalogue.ts';
import { dialects, type ApiName } from '@gatehouse/dialects/dialects';
import { originOf as converseOrigin } from '@gatehouse/dialects/model-family';
import { originAt } from '@gatehouse/dialects/translation/signatures';
import type { KeyRotation } from './key-pool.ts';

/** The origins of signatures of reasoning. A signature goes back to its origin alone: another one refuses it, and must not read it. */

/** Hosts of the vendors themselves. Clouds serve no other models in these APIs. */
const ownHosts: Readonly<Record<'messages' | 'gemini', RegExp>> = {
  messages: /(?:^|\.)anthropic\.com$/,
  gemini: /\.googleapis\.com$/,
};
const clouds: ReadonlySet<string> = new Set(['vertex', 'bedrock']);

const vendors = { messages: 'anthropic', gemini: 'google', responses: 'openai' } as const;

/**
 * The account that alone reads the signatures of a model; null where every account of its vendor does. OpenAI's are encrypted for
 * the organisation, which each key of a pool may have another of. `key`: the name of the key; null for a provider's one key.
 */
export function accountOf({ api, provider }: Model, key: string | null): string | null {
  if (api === 'chat' || api === 'converse') return null;
  if (api === 'responses') return digestOf([provider.name, key]);
  const isVendors = clouds.has(provider.kind) || ownHosts[api].test(new URL(provider.base_url).hostname);
  return isVendors ? null : digestOf([provider.name]);
}

/** The origin of signatures that come from a model, or may go to it. */
export function originOf(model: Model, key: string | null): string {
  const { api, upstreamModel } = model;
  if (api === 'converse') return converseOrigin({ name: upstreamModel });
  return api === 'chat' ? 'chat' : originAt(vendors[api], accountOf(model, key));
}

/** The same for the key that a rotation is at when it is called; null for a provider's one key. */
export function originBy(model: Model, rotation: Pick<KeyRotation, 'key'> | null): () => string {
  return () => originOf(model, rotation?.key?.id ?? null);
}

/** Whether a model may get signatures that clients of an API have from providers as they are. */
export function readsSignatures(client: ApiName, { api, upstreamModel }: Model): boolean {
  if (client === 'chat') return false;
  if (client === api) return true;
  return (
    client === 'messages' && api === 'converse' && converseOrigin({ name: upstreamModel }) === 'anthropic'
  );
}

const clients = Object.keys(dialects) as ApiName[];

/** The origins of the signatures that clients of each API may have. */
export class CatalogueOrigins {
  readonly #origins = new Map(clients.map((client) => [client, new Set<string>()]));
  /** Providers and APIs whose origins are known, since none of their models has another. */
  readonly #known = new Set<string>();

  /** `keys`: the names of its keys. */
  add(model: Model, keys: readonly (string | null)[]): void {
    const name = cacheKey(model.provider.name, model.api);
    if (model.api !== 'converse' && this.#known.size === this.#known.add(name).size) return;
    for (const [client, origins] of this.#origins)
      if (readsSignatures(client, model)) for (const key of keys) origins.add(originOf(model, key));
  }

  /** The APIs whose signatures may have several. */
  get divided(): ReadonlySet<ApiName> {
    return new Set(clients.filter((client) => (this.#origins.get(client)?.size ?? 0) > 1));
  }
}

/** Clients see it in marks, so it names neither the provider nor the key. */
function digestOf(names: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, 16);
}
