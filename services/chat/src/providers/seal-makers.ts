import type { Model } from '../catalogue/catalogue.ts';
import type { ApiName } from '../dialects/dialects.ts';
import { sealId, sealIdsIn } from '../dialects/seals-in.ts';

/** A model, and the position of the key that it was called with; null without a pool of keys. */
export interface SealMaker {
  model: Model;
  key: number | null;
}

/** Some days of a busy tenant; an id takes about 100 bytes. */
const maxSealsEach = 20_000;
const maxSeals = 500_000;

/**
 * The vendors that made the seals of thoughts which clients have got as they are. A seal goes back to its vendor alone:
 * another one refuses it, and must not read it. A seal that is not known here counts as made by the vendor that the client
 * asks first.
 */
export class SealMakers {
  /** By tenant, the least recently used first; each with its oldest seal first. */
  readonly #tenants = new Map<string, Map<string, string>>();
  #size = 0;
  /** An address is read once: each call asks. */
  readonly #vendors = new WeakMap<Model, string>();

  /** Notes the seals in an answer, or in a frame of one. */
  note(tenantId: string, by: SealMaker, text: Buffer): void {
    const { model } = by;
    const ids = model.api === 'converse' ? [] : sealIdsIn(model.api, text);
    if (ids.length === 0) return;
    const known = this.#of(tenantId);
    const vendor = this.#makerOf(by);
    this.#size -= known.size;
    for (const id of ids) {
      known.delete(id);
      known.set(id, vendor);
    }
    for (const id of known.keys()) {
      if (known.size <= maxSealsEach) break;
      known.delete(id);
    }
    this.#size += known.size;
    for (const [tenant, seals] of this.#tenants) {
      if (this.#size <= maxSeals || tenant === tenantId) break;
      this.#tenants.delete(tenant);
      this.#size -= seals.size;
    }
  }

  /** Whether a seal goes to a model with a key. `first`: those that the client asks first. */
  keeps(tenantId: string, { by, first }: Record<'by' | 'first', SealMaker>): (seal: unknown) => boolean {
    const known = this.#tenants.get(tenantId);
    return (seal) => {
      const id = sealId(seal);
      const maker = (id === null ? undefined : known?.get(id)) ?? this.#makerOf(first);
      return maker === this.#makerOf(by);
    };
  }

  #makerOf({ model, key }: SealMaker): string {
    const vendor = this.#vendorOf(model);
    return key === null || isVendorWide(model) ? vendor : `${vendor} ${key}`;
  }

  #vendorOf(model: Model): string {
    const known = this.#vendors.get(model) ?? vendorOf(model);
    this.#vendors.set(model, known);
    return known;
  }

  #of(tenantId: string): Map<string, string> {
    const known = this.#tenants.get(tenantId) ?? new Map<string, string>();
    this.#tenants.delete(tenantId);
    this.#tenants.set(tenantId, known);
    return known;
  }
}

/** Vendors whose models have several ways to them. */
const ways: readonly (readonly [ApiName, RegExp, string])[] = [
  ['messages', /(?:^|\.)anthropic\.com$|aiplatform\.googleapis\.com$|^bedrock-runtime\./, 'anthropic'],
  ['gemini', /\.googleapis\.com$/, 'google'],
];

function vendorOf({ api, provider }: Model): string {
  const { hostname } = new URL(provider.base_url);
  const way = ways.find(([of, hosts]) => of === api && hosts.test(hostname));
  return way?.[2] ?? `${api} ${provider.name}`;
}

/** Whether seals are good with every key: those of OpenAI's API are read by the account alone that made them. */
function isVendorWide({ api }: Model): boolean {
  return api !== 'responses';
}
