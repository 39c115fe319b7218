import type { AppError } from '@gatehouse/kit/errors';
import { maxPico } from '@gatehouse/kit/money';
import { Resource, type Demand } from '@gatehouse/proto/tenant/v1/tenant';
import { patientMs, reservedAskMs, slotTries } from '../bounds.ts';
import type { Admission } from './admission.ts';
import type { LeasedLimit, Need, Taken } from './leased-limit.ts';
import { refusal } from './refusal.ts';

/** The needs of a request. */
export interface RequestDemand {
  readonly needs: readonly Need[];
  /** The largest demand within the remaining budgets; null without one. */
  lowered?(left: (limit: LeasedLimit) => bigint): readonly Need[] | null;
  /** The amount of a limit spent by earlier calls of the request, which never becomes free for its next ones. */
  spentOf?(limit: LeasedLimit): bigint;
  /** Whether the request is refused at once where this limit is short, since another model may be called. */
  isRefusedAt?(limit: LeasedLimit): boolean;
}

interface WaitingOptions {
  admission: Admission;
  demand: RequestDemand;
  resolve: (taken: readonly Need[]) => void;
  reject: (error: unknown) => void;
}

/**
 * A request waiting for leases. While the tenant service is asked for some of its needs, the request holds the others,
 * which are leased here already.
 */
export class WaitingRequest {
  readonly demand: RequestDemand;
  readonly since: number;
  readonly reject: (error: unknown) => void;
  /** Those of the demand, or of a cheaper call. */
  needs: readonly Need[];
  /** Whether the request has left. */
  isOver = false;
  /** When its needs are asked for. */
  askAt: number;
  /** Calls still allowed to ask for it. */
  tries = slotTries;
  readonly #admission: Admission;
  readonly #resolve: (taken: readonly Need[]) => void;
  /** By the index of its need: null without a limit, absent while it is asked for. */
  #held: readonly (Taken | null | undefined)[] = [];

  constructor({ admission, demand, resolve, reject }: WaitingOptions, now: number) {
    this.demand = demand;
    this.needs = demand.needs;
    this.since = now;
    this.askAt = now;
    this.reject = reject;
    this.#admission = admission;
    this.#resolve = resolve;
  }

  /** The needs to ask for. */
  get missing(): readonly Need[] {
    return this.needs.filter((_, index) => this.#held[index] === undefined);
  }

  /** Takes what is leased here already: only the rest is asked for. */
  hold(now: number): void {
    this.#held = this.needs.map(({ limit, amount }) =>
      limit.fits(amount, now) ? limit.take(amount) : undefined,
    );
  }

  /** Gives back what it holds, before it is refused or waits on: the next request may take it. */
  putBack(): void {
    for (const taken of this.#held) taken?.limit.putBack(taken);
    this.#held = [];
  }

  /** Admits the request if there is enough for it. Returns false if it needs more. */
  admit(now: number): boolean {
    if (this.isOver) {
      this.putBack();
      return true;
    }
    if (!fitsAll(this.missing, now)) return false;
    const taken = this.needs.map(({ limit, amount }, index) => {
      const held = this.#held[index];
      return held === undefined ? limit.take(amount) : held;
    });
    this.#held = [];
    this.#admission.add(taken.filter((each) => each !== null));
    this.#resolve(this.needs);
    return true;
  }

  /** Adds the budgets of a request after a long wait: no other request overtakes it there. */
  claim(claimed: Set<LeasedLimit>, now: number): void {
    if (now - this.since < patientMs) return;
    for (const { limit } of this.needs) if (limit.resource === Resource.BUDGET) claimed.add(limit);
  }
}

/** When all requests waiting for reserved amounts ask again. */
export function nextRetry(now: number): number {
  return Math.ceil(now / reservedAskMs + 0.1) * reservedAskMs;
}

/** Whether an older request is next at one of the budgets. */
export function isBehind(needs: readonly Need[], claimed: ReadonlySet<LeasedLimit>): boolean {
  return claimed.size > 0 && needs.some(({ limit }) => claimed.has(limit));
}

/** The asked limits with their places in a call, and the amounts needed by requests. */
type AskedLimits = ReadonlyMap<LeasedLimit, { index: number; amounts: bigint[] }>;

/** The limits of a call, in the order of its asks; and the demand of each request. */
export function askedLimits(
  asking: readonly WaitingRequest[],
  returning: readonly LeasedLimit[],
): { byLimit: AskedLimits; demands: Demand[] } {
  const byLimit = new Map<LeasedLimit, { index: number; amounts: bigint[] }>();
  const askFor = (limit: LeasedLimit): { index: number; amounts: bigint[] } => {
    const known = byLimit.get(limit);
    if (known !== undefined) return known;
    const made = { index: byLimit.size, amounts: [] };
    byLimit.set(limit, made);
    return made;
  };
  for (const limit of returning) askFor(limit);
  const demands = asking.map((waiter) => ({
    needs: waiter.missing.map(({ limit, amount }) => {
      const { index, amounts } = askFor(limit);
      amounts.push(amount);
      return { ask: index, amount };
    }),
  }));
  return { byLimit, demands };
}

/** Whether budgets would do for the request as it came if nothing of them were reserved. */
export function isWholeToCome(demand: RequestDemand): boolean {
  return demand.needs.every(({ limit, amount }) => amount <= (unspentFor(demand, limit) ?? amount));
}

/** The part of a budget that is free for a request, or reserved for others. Null where it is not known. */
function unspentFor(demand: RequestDemand, limit: LeasedLimit): bigint | null {
  const { unspent } = limit;
  return unspent === null ? null : unspent - (demand.spentOf?.(limit) ?? 0n);
}

/** Whether only budgets are short, and would do for the request, or a cheaper call, if nothing were reserved. */
export function areOnlyReserved(short: readonly Need[], demand: RequestDemand): boolean {
  if (short.some(({ limit }) => limit.unspent === null)) return false;
  return isWholeToCome(demand) || Boolean(demand.lowered?.((limit) => unspentFor(demand, limit) ?? maxPico));
}

/** The need to refuse a request by; absent if none is short. */
export function decisiveOf(short: readonly Need[], demand: RequestDemand): Need | undefined {
  const isBarring = ({ limit }: Need): boolean => demand.isRefusedAt?.(limit) === true;
  return short.find(({ limit }) => limit.isFull) ?? short.find(isBarring) ?? short[0];
}

/**
 * The refusal by a budget too far spent at the last grant: nothing can become free of it while the grant is
 * fresh, so clients sending on cost no calls. Null if the tenant service has to be asked.
 */
export function knownRefusal(demand: RequestDemand, now: number): AppError | null {
  const { needs } = demand;
  const short = needs.filter(({ limit, amount }) => limit.isSpentFor(amount, now));
  const first = decisiveOf(short, demand);
  if (first === undefined || !areKnown(needs, now) || areOnlyReserved(short, demand)) return null;
  const limits = needs.map(({ limit }) => limit);
  return first.unpriced ?? refusal(first, limits, now);
}

/** Whether the last grants are recent enough to decide by. */
export function areKnown(needs: readonly Need[], now: number): boolean {
  return needs.every(({ limit, amount }) => limit.isFresh(now) || limit.fits(amount, now));
}

/** Whether enough is leased here for all of them. */
export function fitsAll(needs: readonly Need[], now: number): boolean {
  return needs.every(({ limit, amount }) => limit.fits(amount, now));
}

/** Adds the needs, which fit, to the admission. */
export function take(admission: Admission, needs: readonly Need[]): void {
  admission.add(needs.map(({ limit, amount }) => limit.take(amount)).filter((taken) => taken !== null));
}
