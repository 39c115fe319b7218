import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { BudgetCharge } from '../runs/run.ts';
import type { Pool, Term } from './pool.ts';

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

/** What was taken of several limits at once, until the request that it was taken for is over. */
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

  /** Of the limits that it was taken of. */
  get pools(): readonly Pool[] {
    return this.#taken.map(({ pool }) => pool);
  }

  /** The budgets among them. */
  get charges(): readonly BudgetCharge[] {
    const budgets = this.#taken.filter(({ pool }) => pool.resource === Resource.BUDGET);
    return budgets.map(({ pool, term: { windowStart } }) => ({
      subjectId: pool.subjectId,
      windowStart: Number(windowStart),
    }));
  }

  /** Returns what was reserved beyond what was spent. Only the first call counts. */
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
