import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { Pricing } from '../catalogue/pricing.ts';
import type { GuardrailCall } from '../guardrails/outside/guardrail-models.ts';
import { Admission, isSpent } from '../limits/admission.ts';
import type { CountedCall, Limiter } from '../limits/limiter.ts';
import { RequestAmounts } from '../limits/request-amounts.ts';
import { mostTokens } from '../limits/upper-bounds.ts';
import { withoutLimits } from '../shared/tenant-settings.ts';
import { runPoliciesOf, type PolicyTurn } from './run-policies.ts';

/**
 * Admits a call of a model for a guardrail of a turn. Its tokens and money count where those of the run do; the run counts
 * among requests and in concurrency already. Throws as `Limiter.admit` does.
 */
export async function admitGuardrailCall(
  { limiter, pricing }: { limiter: Limiter; pricing: Pricing },
  turn: PolicyTurn,
  { request, target, signal }: GuardrailCall,
): Promise<Admission> {
  const { actor, settings } = turn;
  const { tenantId, apiKeyId } = actor;
  const { ownKeys } = target;
  const payer = {
    ...{ tenantId, apiKeyId },
    settings: ownKeys === null ? settings : withoutLimits(settings, [Resource.BUDGET]),
  };
  const amounts = new RequestAmounts(() => mostTokens(request, target), pricing);
  const policies = runPoliciesOf({ ...turn, target: { ...turn.target, ownKeys } }, limiter);
  const counters = (policies?.countersOf(target.chain[0].id) ?? [])
    .map(withSpent)
    .filter(({ policy }) => policy.limited.length > 0);
  const counted = { counters, amounts, hasAlternative: false };
  const admission = new Admission();
  const call = { amounts, leastTokens: null, signal, ...(counters.length > 0 && { counted }) };
  await limiter.admit(admission, payer, call);
  return admission;
}

type Counter = CountedCall['counters'][number];

function withSpent(counter: Counter): Counter {
  const { policy } = counter;
  return { ...counter, policy: { ...policy, limited: policy.limited.filter(isSpent) } };
}
