import { monotonicMs } from '@gatehouse/kit/clock';
import { wrongKey } from './key-status.ts';

/** Why a key rests: its limits are used up, or the provider refuses it. */
export type RestReason = 'limited' | 'refused';

export interface Rest {
  reason: RestReason;
  /** By the clock of the rests. */
  until: number;
  pauseMs: number;
}

/** Pauses double from the first to the longest until the key is accepted. */
const pauses: Record<RestReason, { first: number; longest: number }> = {
  limited: { first: 1_000, longest: 60_000 },
  refused: { first: 60_000, longest: 3_600_000 },
};
/** The longest time that a provider may ask to wait. */
const longestRetryAfterMs = 3_600_000;

/** A key rests for all tenants when this many have it rest. */
const tenantsToRest = 3;
const maxTenants = 1_000;
const maxModels = 1_000;

/** A refused call. */
export interface RefusedCall {
  status: number;
  retryAfterMs: number | undefined;
}

/** The model of a call, by the provider's name of it, and its tenant. */
export interface CallOf {
  model: string;
  tenantId: string;
}

interface OfModel {
  shared: Rest | null;
  /** The tenant whose call was refused longest ago first. */
  tenants: Map<string, Rest>;
}

/**
 * The rests of one key. Providers limit models apart, so a key rests for one model. A request can be too large for any key
 * or ask for more than its account may, so a 429, 402 or 403 counts for its tenant alone until three tenants got one, as for the
 * breaker (ADR 25). No request causes a 401: then the key rests for all.
 */
export class KeyRests {
  readonly #now: () => number;
  /** For all models and tenants. */
  #whole: Rest | null = null;
  readonly #models = new Map<string, OfModel>();

  constructor(now: () => number = monotonicMs) {
    this.#now = now;
  }

  /** The rest that a call must wait for; null for a key that may be used. */
  of({ model, tenantId }: CallOf): Rest | null {
    const ofModel = this.#models.get(model);
    return this.#longest([this.#whole, ofModel?.shared, ofModel?.tenants.get(tenantId)]);
  }

  /** The longest rest of a model for any tenant. */
  ofAny(model: string): Rest | null {
    const ofModel = this.#models.get(model);
    return this.#longest([this.#whole, ofModel?.shared, ...(ofModel?.tenants.values() ?? [])]);
  }

  /** The longest rest of any model for any tenant. */
  get longest(): Rest | null {
    return this.#longest([this.#whole, ...[...this.#models.keys()].map((model) => this.ofAny(model))]);
  }

  /** The provider refused a call with this key. */
  refused({ model, tenantId }: CallOf, { status, retryAfterMs }: RefusedCall): void {
    if (status === wrongKey) {
      this.#whole = this.#after(this.#whole, 'refused', undefined);
      return;
    }
    const reason = status === 429 ? 'limited' : 'refused';
    const ofModel = this.#ofModel(model);
    const rest = this.#after(ofModel.tenants.get(tenantId) ?? null, reason, retryAfterMs);
    ofModel.tenants.delete(tenantId);
    ofModel.tenants.set(tenantId, rest);
    dropOldest(ofModel.tenants, maxTenants);
    const now = this.#now();
    const resting = [...ofModel.tenants.values()].filter(({ until }) => until > now);
    if (resting.length >= tenantsToRest) ofModel.shared = this.#after(ofModel.shared, reason, retryAfterMs);
  }

  /** The provider accepted a call with this key. Rests that have not ended stay: the call had begun before them. */
  accepted({ model, tenantId }: CallOf): void {
    const now = this.#now();
    const isOver = (rest: Rest | null | undefined): boolean => (rest?.until ?? 0) <= now;
    if (isOver(this.#whole)) this.#whole = null;
    const ofModel = this.#models.get(model);
    if (ofModel === undefined) return;
    if (isOver(ofModel.shared)) ofModel.shared = null;
    if (isOver(ofModel.tenants.get(tenantId))) ofModel.tenants.delete(tenantId);
    if (ofModel.tenants.size === 0 && ofModel.shared === null) this.#models.delete(model);
  }

  /** Another key is in its place. */
  clear(): void {
    this.#whole = null;
    this.#models.clear();
  }

  #after(last: Rest | null, reason: RestReason, retryAfterMs: number | undefined): Rest {
    const now = this.#now();
    const { first, longest } = pauses[reason];
    const isSame = last?.reason === reason;
    // Calls that were under way together are one refusal.
    const isResting = isSame && last.until > now;
    const doubled = isSame ? Math.min(longest, last.pauseMs * 2) : first;
    const pauseMs = isResting ? last.pauseMs : doubled;
    const asked = reason === 'limited' ? retryAfterMs : undefined;
    const until = now + Math.min(longestRetryAfterMs, asked ?? pauseMs);
    return { reason, pauseMs, until: isResting && asked === undefined ? last.until : until };
  }

  #longest(rests: readonly (Rest | null | undefined)[]): Rest | null {
    const now = this.#now();
    let found: Rest | null = null;
    for (const rest of rests)
      if (rest !== null && rest !== undefined && rest.until > now && rest.until > (found?.until ?? 0))
        found = rest;
    return found;
  }

  #ofModel(model: string): OfModel {
    const known = this.#models.get(model) ?? { shared: null, tenants: new Map<string, Rest>() };
    this.#models.delete(model);
    this.#models.set(model, known);
    dropOldest(this.#models, maxModels);
    return known;
  }
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
