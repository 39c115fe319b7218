import { monotonicMs } from '@gatehouse/kit/clock';
import type { BudgetCharge } from '../runs/run.ts';
import type { Admission, Spent } from './admission.ts';
import { limitHeaders } from './rate-limit-headers.ts';

/**
 * What one request holds of its tenant's limits until it is over: slots from its arrival on, and from when its body has
 * been read also what the body decides.
 */
export class RequestAdmission {
  readonly #steps: Admission[] = [];

  add(step: Admission): void {
    this.#steps.push(step);
  }

  /** The `x-ratelimit-*` headers of its answer. */
  get headers(): Record<string, string> {
    return limitHeaders(
      this.#steps.flatMap((step) => step.pools),
      monotonicMs(),
    );
  }

  /** The budgets that its run is charged to; null when there are none. */
  get charges(): readonly BudgetCharge[] | null {
    const charges = this.#steps.flatMap((step) => step.charges);
    return charges.length === 0 ? null : charges;
  }

  /** Returns what was reserved beyond what was spent. Only the first call counts. */
  release(spent: Spent): void {
    for (const step of this.#steps) step.release(spent);
  }
}
