import type { ChangeWatch } from '@gatehouse/kit/change-watch';
import { monotonicMs } from '@gatehouse/kit/clock';
import { RecentMap } from '@gatehouse/kit/recent-map';
import { sessionBudgetPolicyId } from '@gatehouse/kit/session-budget';
import type { Ask, Grant } from '@gatehouse/proto/tenant/v1/tenant';
import type { PolicyCounter } from '../policies/policy.ts';
import { maxUnsetBudgets, unsetBudgetMs } from '../bounds.ts';

/**
 * Sessions without a budget, as far as leases and changes show: the first budget set for a session is a change of the
 * tenant service, so they need no leases until then.
 */
export class UnsetBudgets {
  readonly #changes: Pick<ChangeWatch, 'stateOf'>;
  /** When the tenant service was asked, by the id of the counter; -Infinity once a budget is set. */
  readonly #sessions = new RecentMap<{ at: number }>(maxUnsetBudgets);

  constructor(changes: Pick<ChangeWatch, 'stateOf'>) {
    this.#changes = changes;
  }

  /** Whether the session of a counter has no budget. A request with an amount sets one. */
  has(tenantId: string, { id, policy: { requestedPico } }: PolicyCounter): boolean {
    if (requestedPico === undefined) return false;
    const session = this.#sessions.get(id);
    if (session === undefined) return false;
    if (requestedPico !== null) session.at = -Infinity;
    return (
      monotonicMs() - session.at < unsetBudgetMs &&
      this.#changes.stateOf([tenantId, id], session.at) === 'current'
    );
  }

  /** Notes the grants of a call made at `askedAt`. */
  note(asks: readonly Ask[], grants: readonly Grant[], askedAt: number): void {
    for (const [index, { subjectId, policyId }] of asks.entries()) {
      if (policyId !== sessionBudgetPolicyId) continue;
      const grant = grants[index];
      const isUnset = grant !== undefined && grant.limit === undefined && grant.tooManyCounters !== true;
      this.#sessions.set(subjectId, { at: isUnset ? askedAt : -Infinity });
    }
  }
}
