import { monotonicMs } from '@gatehouse/kit/clock';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { BudgetCharge } from '../domain/run.ts';
import type { Pool, Term } from './pool.ts';
import { limitHeaders } from './rate-limit-headers.ts';

/** What a request may need of one limit. */
export interface Need {
  pool: Pool;
  amount: bigint;
}

/** What a request came to. */
export interface Spent {
  tokens: number;
  costPico: bigint;
}

interface Taken extends Need {
  term: Term;
}

/** A request that was let in: what is reserved for it, until it is over. */
export class Admission {
  readonly #taken: readonly Taken[];
  readonly #onRelease: () => void;
  #over = false;

  /** Takes what is needed, which fits. */
  constructor(needs: readonly Need[], onRelease: () => void) {
    this.#taken = needs.flatMap((need) =>
      need.pool.limit === null ? [] : [{ ...need, term: need.pool.term }],
    );
    this.#onRelease = onRelease;
    for (const { pool, amount } of needs) pool.take(amount);
  }

  /** What its answer tells of the limits. */
  get headers(): Record<string, string> {
    return limitHeaders(
      this.#taken.map(({ pool }) => pool),
      monotonicMs(),
    );
  }

  /** The budgets that its run is charged to; null when there are none. */
  get charges(): readonly BudgetCharge[] | null {
    const budgets = this.#taken.filter(({ pool }) => pool.resource === Resource.BUDGET);
    return budgets.length === 0
      ? null
      : budgets.map(({ pool, term: { windowStart } }) => ({
          subjectId: pool.subjectId,
          windowStart: Number(windowStart),
        }));
  }

  /** Gives back what was reserved beyond what was spent. Only the first call counts. */
  release(spent: Spent): void {
    if (this.#over) return;
    this.#over = true;
    for (const { pool, amount, term } of this.#taken) pool.spend(amount, spentOf(pool.resource, spent), term);
    this.#onRelease();
  }
}

function spentOf(resource: Resource, spent: Spent): bigint {
  switch (resource) {
    case Resource.TOKENS:
      return BigInt(spent.tokens);
    case Resource.BUDGET:
      return spent.costPico;
    case Resource.CONCURRENCY:
      return 0n;
    default:
      // A request counts when it is let in, whatever becomes of it.
      return 1n;
  }
}
