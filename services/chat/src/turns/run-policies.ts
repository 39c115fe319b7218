import { PolicyIndex, type RunPolicies } from '@gatehouse/kit/policy-matching';
import { runFactsOf, type Target } from '../catalogue/target.ts';
import type { Limiter } from '../limits/limiter.ts';
import { sessionBudget, type Policy } from '../policies/policy.ts';
import type { TurnContext } from './turn-stage.ts';

/** The part of a turn deciding its policies. */
export type PolicyTurn = Pick<TurnContext, 'settings' | 'actor' | 'sessionId' | 'sessionBudget'> & {
  target: Pick<Target, 'agentId' | 'agentKey' | 'ownKeys'>;
};

const noPolicies = new PolicyIndex<Policy>([]);

/** The policies of a turn, with the budget of its session; null without any. */
export function runPoliciesOf(turn: PolicyTurn, limiter: Limiter): RunPolicies<Policy> | null {
  const { settings } = turn;
  const sessionPolicies = sessionBudgetsOf(turn, limiter);
  if (settings.policies === null && sessionPolicies.length === 0) return null;
  const policies = (settings.policies ?? noPolicies).matching(runFactsOf(turn), sessionPolicies);
  return policies.isEmpty ? null : policies;
}

/** The budget of the turn's session, where one is set, or may be. */
function sessionBudgetsOf(
  { settings, actor: { tenantId }, sessionId, sessionBudget: requestedPico }: PolicyTurn,
  limiter: Limiter,
): readonly Policy[] {
  const mayBeSet = settings.hasSessionBudgets || requestedPico !== null || limiter.countsSessions(tenantId);
  return sessionId !== null && mayBeSet ? [sessionBudget(tenantId, requestedPico)] : [];
}
