import { monotonicMs } from '@gatehouse/kit/clock';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { BudgetCharge } from '../runs/run.ts';
import { toTokens } from '@gatehouse/dialects/usage/tokens';
import type { Taken } from './leased-limit.ts';
import { limitHeaders } from './refusal.ts';

/** Amounts used by a request. */
export interface Spent {
  tokens: number;
  costPico: bigint;
}

/**
 * Amounts of its tenant's limits held by one request until it is over: slots from its arrival on, and those decided by
 * its body once it was read.
 */
export class Admission {
  #taken: Taken[] = [];
  #over = false;

  add(taken: Taken): void {
    this.#taken.push(taken);
  }

  /** The `x-ratelimit-*` headers of its answer. */
  get headers(): Record<string, string> {
    const limits = this.#taken.map(({ limit }) => limit);
    return limitHeaders(limits, monotonicMs());
  }

  /** Budgets its run is charged to; null without one. */
  get charges(): readonly BudgetCharge[] | null {
    const budgets = this.#taken.filter(({ limit }) => limit.resource === Resource.BUDGET);
    if (budgets.length === 0) return null;
    return budgets.map(({ limit, windowStart }) => ({
      subjectId: limit.subjectId,
      windowStart: Number(windowStart),
    }));
  }

  /** Money reserved for the call under way; 0 without a budget. */
  get reservedPico(): bigint {
    const last = this.#taken.findLast(({ limit }) => limit.resource === Resource.BUDGET);
    return last?.amount ?? 0n;
  }

  /** Returns what ended calls reserved beyond `spent`; another call of the same request follows. */
  lessen(spent: Spent): void {
    const known = new Set<unknown>();
    this.#taken = this.#taken.map((taken) => {
      const { limit } = taken;
      if (!isSpent(limit.resource)) return taken;
      const isFirst = !known.has(limit);
      known.add(limit);
      return limit.lessen(taken, isFirst ? spentOf(limit.resource, spent) : 0n);
    });
  }

  /** Returns what was reserved beyond what was spent. Only the first call counts. */
  release(spent: Spent): void {
    if (this.#over) return;
    this.#over = true;
    const settled = new Set<unknown>();
    for (const taken of this.#taken) {
      // A request with several provider calls has taken several times of the same limit.
      const isFirst = !settled.has(taken.limit);
      settled.add(taken.limit);
      taken.limit.spend(taken, isFirst ? spentOf(taken.limit.resource, spent) : 0n);
    }
  }
}

/** Whether a resource is used up by provider calls. */
export function isSpent(resource: Resource): boolean {
  return resource === Resource.TOKENS || resource === Resource.BUDGET;
}

function spentOf(resource: Resource, spent: Spent): bigint {
  switch (resource) {
    case Resource.TOKENS:
      return BigInt(toTokens(spent.tokens));
    case Resource.BUDGET:
      return spent.costPico;
    case Resource.CONCURRENCY:
      return 0n;
    default:
      // A request counts once it is admitted, whatever its outcome.
      return 1n;
  }
}
