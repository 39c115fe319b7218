import { monotonicMs } from '@gatehouse/kit/clock';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { BudgetCharge } from '../runs/run.ts';
import { toTokens } from '@gatehouse/dialects/usage/tokens';
import type { LeasedLimit, Taken } from './leased-limit.ts';
import { limitHeaders } from './refusal.ts';

/** Amounts used by a provider call. */
export interface Spent {
  tokens: number;
  costPico: bigint;
}

/** Tokens and money held for provider calls: the first one, with its fallbacks, or a further one of the same request. */
export class Reservation {
  /** Budgets its calls are charged to, in the windows in which they were reserved; null without one. */
  readonly charges: readonly BudgetCharge[] | null;
  /** Money reserved for a call; 0 without a budget. */
  readonly reservedPico: bigint;
  /** Whether one of the budgets may refuse a call. Others count what has ended. */
  readonly isEnforced: boolean;
  /** The id under which this replica holds the money; null without a budget. */
  readonly holderId: string | null;
  #taken: readonly Taken[];
  #tokens = 0;
  #costPico = 0n;

  constructor(taken: readonly Taken[]) {
    this.#taken = taken;
    const budgets = taken.filter(({ limit }) => limit.resource === Resource.BUDGET);
    this.holderId = budgets[0]?.holderId ?? null;
    this.charges = budgets.length === 0 ? null : budgets.map(chargeTo);
    this.isEnforced = budgets.some(
      ({ limit }) => limit.max !== null && limit.counter?.policy.enforce !== false,
    );
    this.reservedPico = budgets.reduce((most, { amount }) => (amount > most ? amount : most), 0n);
  }

  get taken(): readonly Taken[] {
    return this.#taken;
  }

  /** A call has ended, and used this. */
  spend({ tokens, costPico }: Spent): void {
    this.#tokens += tokens;
    this.#costPico += costPico;
  }

  /** Returns what was reserved beyond what the calls have used; its request goes on. */
  lessen(): void {
    this.#taken = this.#taken.map((taken) => taken.limit.lessen(taken, this.#spentOf(taken)));
  }

  /** The same when the request is over. Only the first call counts. */
  release(): void {
    for (const taken of this.#taken) taken.limit.spend(taken, this.#spentOf(taken));
    this.#taken = [];
  }

  #spentOf({ limit }: Taken): bigint {
    return limit.resource === Resource.TOKENS ? BigInt(toTokens(this.#tokens)) : this.#costPico;
  }
}

/** The reservation of a request without limits of tokens and money. */
const nothingReserved = new Reservation([]);

/**
 * Amounts of its tenant's limits held by one request until it is over: slots from its arrival on, and a reservation for
 * each provider call, decided by its body.
 */
export class Admission {
  #slots: readonly Taken[] = [];
  readonly #reservations: Reservation[] = [];

  /** Adds what was taken together. A call without a reservation is not charged to the budgets of the one before it. */
  add(taken: readonly Taken[]): void {
    const reserved = taken.filter(({ limit }) => isSpent(limit.resource));
    this.#slots = [...this.#slots, ...taken.filter(({ limit }) => !isSpent(limit.resource))];
    if (reserved.length > 0 || this.#reservations.length > 0)
      this.#reservations.push(reserved.length > 0 ? new Reservation(reserved) : nothingReserved);
  }

  /** The reservation of the call under way, or about to be made. */
  get reservation(): Reservation {
    return this.#reservations.at(-1) ?? nothingReserved;
  }

  /** Whether the request counts there already: in requests and concurrency it does once, whatever models it calls. */
  hasCounted(limit: LeasedLimit): boolean {
    return this.#slots.some((slot) => slot.limit === limit);
  }

  /** The amount that it holds of a limit's present window: between two calls, the one that its calls have spent. */
  heldOf(limit: LeasedLimit): bigint {
    const taken = this.#reservations.flatMap((reservation) => reservation.taken);
    return taken.reduce((sum, each) => (each.limit === limit ? sum + limit.heldBy(each) : sum), 0n);
  }

  /** The `x-ratelimit-*` headers of its answer. */
  get headers(): Record<string, string> {
    const taken = [this.#slots, ...this.#reservations.map((reservation) => reservation.taken)].flat();
    return limitHeaders(
      taken.map(({ limit }) => limit),
      monotonicMs(),
    );
  }

  /** Returns what was reserved beyond what was spent. */
  release(): void {
    for (const taken of this.#slots) taken.limit.spend(taken, slotsSpent(taken));
    for (const reservation of this.#reservations) reservation.release();
    this.#slots = [];
  }
}

/** Whether a resource is used up by provider calls. */
export function isSpent(resource: Resource): boolean {
  return resource === Resource.TOKENS || resource === Resource.BUDGET;
}

function chargeTo({ limit, windowStart }: Taken): BudgetCharge {
  return { subjectId: limit.subjectId, windowStart: Number(windowStart) };
}

/** A request counts once it is admitted, whatever its outcome. */
function slotsSpent({ limit }: Taken): bigint {
  return limit.resource === Resource.CONCURRENCY ? 0n : 1n;
}
