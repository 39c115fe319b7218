import { usdOf } from '@gatehouse/kit/money';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { PolicyCounter } from '../policies/policy.ts';
import type { LeasedLimit, Need } from './leased-limit.ts';

/** The policy with the value counted: `The policy "people" (user "ada")`. */
export function policySubject({ policy: { name, per }, label }: PolicyCounter): string {
  const counted = per === null ? '' : ` (${per.replace('_', ' ')} ${JSON.stringify(label)})`;
  return `The policy ${JSON.stringify(name)}${counted}`;
}

/**
 * The message of a refusal by a policy: the limit, the amount needed by the request, `reason`, and when the window ends.
 * Nothing in it says what other requests have spent. Null for other limits.
 */
export function policyText({ limit, amount }: Need, reason: string, now: number): string | null {
  if (limit.counter === null) return null;
  const { resource, max } = limit;
  const limited = `${policySubject(limit.counter)} allows ${amountText(resource, max ?? 0n)}`;
  return `${limited}; the request needs up to ${amountText(resource, amount)}. ${reason}${resetText(limit, now)}`;
}

function amountText(resource: Resource, amount: bigint): string {
  switch (resource) {
    case Resource.BUDGET:
      return `${usdOf(amount)} USD`;
    case Resource.TOKENS:
      return `${amount} tokens per minute`;
    case Resource.CONCURRENCY:
      return `${amount} requests at a time`;
    default:
      return `${amount} requests per minute`;
  }
}

function resetText({ resource, resetsAt }: LeasedLimit, now: number): string {
  if (resource !== Resource.BUDGET || resetsAt <= now) return '';
  return ` It resets in ${Math.ceil((resetsAt - now) / 1_000)} s.`;
}
