import { retryAfterHeaders } from '@gatehouse/kit/retry-after';
import { AppError, type AppErrorOptions } from '@gatehouse/kit/errors';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { LeasedLimit, Need } from './leased-limit.ts';
import { policySubject, policyText } from './policy-text.ts';
import type { PolicyCounter } from '../policies/policy.ts';
import { administratorRetryMs, maxCallCounters, shortRetryMs, reservedRetryMs } from '../bounds.ts';

/** The error, a 429 unless a policy forbids it, for a request needing more of a limit than is left. */
export class LimitRefusal extends AppError {
  readonly limit: LeasedLimit;

  constructor(
    limit: LeasedLimit,
    code: 'insufficient_quota' | 'rate_limit_exceeded' | 'forbidden_by_policy' | 'too_many_counters',
    { text, headers }: { text: string; headers: Record<string, string> },
  ) {
    super(code, text, optionsOf(limit, headers));
    this.limit = limit;
  }
}

/** A refusal by a policy names it. */
function optionsOf({ counter }: LeasedLimit, headers: Record<string, string>): AppErrorOptions {
  if (counter === null) return { headers };
  const { name } = counter.policy;
  return { headers: { ...headers, 'x-gateway-policy': name }, param: `policy:${name}` };
}

const units = new Map<Resource, string>([
  [Resource.TOKENS, 'tokens'],
  [Resource.COUNTS, 'counts of tokens'],
]);

const noRetry = { 'x-should-retry': 'false' };

const lowerMaxTokens = 'Lower max_tokens or shorten the prompt.';

/** Refusal of a request because its budget is reserved for others, though not spent. */
export function reservedRefusal(need: Need, limits: readonly LeasedLimit[], now: number): LimitRefusal {
  const { limit } = need;
  const text = `The budget is reserved for requests under way. Try again in ${reservedRetryMs / 1_000} s.`;
  return new LimitRefusal(limit, 'rate_limit_exceeded', {
    text: policyText(need, text, now) ?? text,
    headers: { ...limitHeaders(limits, now), ...retryAfterHeaders(reservedRetryMs) },
  });
}

/** Refusal of a call in too many counters; `counter`, with its limit, is the first one too many. */
export function countersRefusal(counter: PolicyCounter, limit: LeasedLimit): LimitRefusal {
  const text = `${policySubject(counter)} is one too many: a call counts in ${maxCallCounters} counters of policies at most. Ask an administrator for fewer policies.`;
  return new LimitRefusal(limit, 'too_many_counters', {
    text,
    headers: { ...retryAfterHeaders(administratorRetryMs), ...noRetry },
  });
}

/** Refusal of a request; `limits` are all it needs. Waiting as long as it says helps, or `x-should-retry` is false. */
export function refusal(need: Need, limits: readonly LeasedLimit[], now: number): LimitRefusal {
  const { limit, amount } = need;
  const isSlot = limit.resource === Resource.CONCURRENCY;
  const waitMs = Math.ceil(isSlot ? shortRetryMs : resetMs(limit, now));
  const seconds = Math.ceil(waitMs / 1_000);
  const headers = { ...limitHeaders(limits, now), ...retryAfterHeaders(waitMs) };
  const max = limit.max ?? 0n;
  // No window is long enough for it.
  const isTooLarge = amount > max;
  const never = { ...headers, ...noRetry };
  if (limit.counter !== null && limit.isFull) {
    const text = `${policySubject(limit.counter)} has no counter yet, and there are too many to open another one.`;
    return new LimitRefusal(limit, 'too_many_counters', { text, headers: retryAfterHeaders(shortRetryMs) });
  }
  if (limit.counter !== null && limit.resource === Resource.REQUESTS && max === 0n) {
    const text = `${policySubject(limit.counter)} forbids the request.`;
    return new LimitRefusal(limit, 'forbidden_by_policy', { text, headers: {} });
  }
  if (limit.resource === Resource.BUDGET) {
    const isSpent = limit.unspent !== null && limit.unspent <= 0n;
    const whole = isTooLarge ? 'the whole budget' : 'what is left of the budget';
    const text = isSpent
      ? 'The budget is spent.'
      : `The request may cost more than ${whole}. ${lowerMaxTokens}`;
    return new LimitRefusal(limit, 'insufficient_quota', {
      text: policyText(need, text, now) ?? text,
      headers: never,
    });
  }
  if (limit.resource === Resource.TOKENS && isTooLarge) {
    const text = `The request may need ${amount} tokens, and the limit is ${max} per minute. ${lowerMaxTokens}`;
    return new LimitRefusal(limit, 'rate_limit_exceeded', {
      text: policyText(need, text, now) ?? text,
      headers: never,
    });
  }
  const unit = units.get(limit.resource) ?? 'requests';
  const text = `The limit of ${max} ${unit} ${isSlot ? 'at a time' : 'per minute'} is reached. Try again in ${seconds} s.`;
  return new LimitRefusal(limit, 'rate_limit_exceeded', {
    text: policyText(need, text, now) ?? text,
    headers,
  });
}

/** Until the window of a limit ends. A budget without an end, alone of all limits, has no time to come. */
function resetMs({ resource, resetsAt }: LeasedLimit, now: number): number {
  const isEndless = resource === Resource.BUDGET && resetsAt <= now;
  return isEndless ? administratorRetryMs : Math.max(1, resetsAt - now);
}

/** Written out, since building the names for each request took longer than the values. */
const names = [
  {
    resource: Resource.REQUESTS,
    limit: 'x-ratelimit-limit-requests',
    remaining: 'x-ratelimit-remaining-requests',
    reset: 'x-ratelimit-reset-requests',
  },
  {
    resource: Resource.TOKENS,
    limit: 'x-ratelimit-limit-tokens',
    remaining: 'x-ratelimit-remaining-tokens',
    reset: 'x-ratelimit-reset-tokens',
  },
];

/** OpenAI's `x-ratelimit-*` headers, of the limit reached first where key and tenant have one; without policies. */
export function limitHeaders(limits: readonly LeasedLimit[], now: number): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { resource, limit, remaining, reset } of names) {
    const leased = tightest(limits, resource);
    if (leased === null) continue;
    headers[limit] = String(leased.max);
    headers[remaining] = String(leased.remaining);
    headers[reset] = `${(Math.max(0, leased.resetsAt - now) / 1_000).toFixed(3)}s`;
  }
  return headers;
}

function tightest(limits: readonly LeasedLimit[], resource: Resource): LeasedLimit | null {
  let least: LeasedLimit | null = null;
  for (const limit of limits) {
    if (limit.resource !== resource || limit.max === null || limit.counter !== null) continue;
    if (least === null || limit.remaining < least.remaining) least = limit;
  }
  return least;
}
