import { createHash } from 'node:crypto';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { runSteps, cooperativeFor } from '@gatehouse/kit/cooperative-steps';
import { dialectOf, dialects, type ApiName } from '@gatehouse/dialects/dialects';
import { originOf as converseOrigin } from '@gatehouse/dialects/model-facts';
import { signatureId, signatureIdsIn, signatureSteps } from '@gatehouse/dialects/signatures-in';
import { originAt } from '@gatehouse/dialects/translation/signatures';
import type { Model } from '../catalogue/catalogue.ts';
import { overlayOf } from '../catalogue/facts-by.ts';
import { traitsOf } from '../catalogue/provider-schema.ts';
import type { KeyRotation } from './key-pool.ts';

/**
 * The only account to read the signatures of a model; null where every account of its vendor does. Servers of chat
 * completions have no vendor: one name of a model may stand for different servers. `key`: the name of the key; null for a
 * provider's one key.
 */
export function accountOf({ api, provider }: Model, key: string | null): string | null {
  const dialect = dialectOf(api);
  if (dialect === null) return null;
  if (dialect.signatures === null) return digestOf([provider.name]);
  const { readers } = dialect.signatures;
  if (readers === 'key') return digestOf([provider.name, key]);
  const isVendors =
    traitsOf(provider.kind).sharesSignatures || readers.test(new URL(provider.base_url).hostname);
  return isVendors ? null : digestOf([provider.name]);
}

/** The origin of signatures from a model, or for it. */
export function originOf(model: Model, key: string | null): string {
  return originAt(vendorOf(model), accountOf(model, key));
}

/** The same for the key of a rotation, as of each call of the result; null for a provider's one key. */
export function originBy(model: Model, rotation: Pick<KeyRotation, 'key'> | null): () => string {
  return () => originOf(model, rotation?.key?.id ?? null);
}

/** Whether a model may get providers' signatures, as they are, from clients of an API. */
export function readsSignatures(client: ApiName, model: Model): boolean {
  return dialects[client].signatures?.vendor === vendorOf(model);
}

/** The vendor whose reasoning a model reads. */
export function vendorOf(model: Model): string {
  const dialect = dialectOf(model.api);
  return dialect === null ? converseOrigin(overlayOf(model)) : (dialect.signatures?.vendor ?? model.api);
}

const clients = Object.keys(dialects) as ApiName[];

/** The APIs of clients with signatures of possibly several origins. `deployments`: each with the names of its keys. */
export function dividedApis(
  deployments: readonly (readonly [Model, readonly (string | null)[]])[],
): ReadonlySet<ApiName> {
  const origins = new Map(clients.map((client) => [client, new Set<string>()]));
  const seen = new Set<string>();
  for (const [model, keys] of deployments) {
    // All models of a provider and dialect have one origin.
    const name = cacheKey(model.provider.name, model.api);
    if (dialectOf(model.api) !== null && seen.size === seen.add(name).size) continue;
    for (const [client, ofClient] of origins)
      if (readsSignatures(client, model)) for (const key of keys) ofClient.add(originOf(model, key));
  }
  return new Set(clients.filter((client) => (origins.get(client)?.size ?? 0) > 1));
}

/** Signatures noted by one run: more than any has. */
const maxNew = 4_096;

/** The name of a signature in the database. */
export function signatureDigest(id: string): Buffer {
  return createHash('sha256').update(id).digest().subarray(0, 16);
}

/** A signature passed to clients as it is, and its origin. */
export interface NewSignature {
  digest: Buffer;
  origin: string;
}

/**
 * The origins of the signatures of one run: in its conversation, as far as they are known, and in its answers (ADR 86).
 * A signature of unknown origin counts as issued by the account called first.
 */
export class SignatureOrigins {
  readonly #members: readonly Buffer[];
  /** By the ids of signatures. */
  readonly #origins: Map<string, string>;
  readonly #new = new Set<string>();
  #first: string | null = null;

  constructor(client: ApiName, known: ReadonlyMap<string, string>) {
    this.#members = dialects[client].signatures?.members ?? [];
    this.#origins = new Map(known);
  }

  /** Notes the signatures in a frame of an answer. */
  note(frame: Buffer, origin: () => string): void {
    this.#add(signatureIdsIn(this.#members, frame), origin);
  }

  /** Notes the signatures in a whole answer, in turns of the tenant if it is large. */
  async noteWhole(answer: Buffer, tenantId: string, origin: () => string): Promise<void> {
    this.#add(
      await runSteps(signatureSteps(this.#members, answer), cooperativeFor(answer, tenantId)),
      origin,
    );
  }

  /** Whether a signature goes to an origin. `first`: the account called first, as of the first look. */
  keeps(by: () => string, first: () => string): (signature: unknown) => boolean {
    return (signature) => {
      const id = signatureId(signature);
      this.#first ??= first();
      return ((id === null ? undefined : this.#origins.get(id)) ?? this.#first) === by();
    };
  }

  /** Those of the answers, which are stored with the end of the run. */
  get made(): readonly NewSignature[] {
    return [...this.#new].map((id) => ({ digest: signatureDigest(id), origin: this.#origins.get(id) ?? '' }));
  }

  #add(ids: readonly string[], origin: () => string): void {
    if (ids.length === 0) return;
    const by = origin();
    for (const id of ids) {
      if (this.#new.size >= maxNew) return;
      if (this.#origins.has(id)) continue;
      this.#origins.set(id, by);
      this.#new.add(id);
    }
  }
}

/** Clients see it in marks, so it names neither the provider nor the key. */
function digestOf(names: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, 16);
}
