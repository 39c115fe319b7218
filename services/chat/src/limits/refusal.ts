import { AppError } from '@gatehouse/kit/errors';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { Need } from './admission.ts';
import { limitHeaders } from './rate-limit-headers.ts';

/** A slot becomes free when a request ends; nobody knows when that is. */
const slotRetryMs = 1_000;

/** The 429 for a request that a limit does not let in. Truthful: waiting for as long as it says helps, or is not advised. */
export function refusal({ pool, amount }: Need, needs: readonly Need[], now: number): AppError {
  const limit = pool.limit ?? 0n;
  const waitMs = pool.resource === Resource.CONCURRENCY ? slotRetryMs : Math.max(1, pool.resetsAt - now);
  const headers = {
    ...limitHeaders(
      needs.map((need) => need.pool),
      now,
    ),
    'retry-after': String(Math.ceil(waitMs / 1_000)),
    'retry-after-ms': String(Math.ceil(waitMs)),
  };
  const wait = `Try again in ${headers['retry-after']} s.`;
  const never = { ...headers, 'x-should-retry': 'false' };
  switch (pool.resource) {
    case Resource.BUDGET:
      return amount > limit
        ? new AppError(
            'insufficient_quota',
            `The request may cost more than the whole budget. ${lowerMaxTokens}`,
            { headers: never },
          )
        : new AppError('insufficient_quota', 'The budget is spent, or reserved for requests under way.', {
            headers: never,
          });
    case Resource.TOKENS:
      return amount > limit
        ? new AppError(
            'rate_limit_exceeded',
            `The request may need ${amount} tokens, and the limit is ${limit} per minute. ${lowerMaxTokens}`,
            { headers: never },
          )
        : new AppError('rate_limit_exceeded', `The limit of ${limit} tokens per minute is reached. ${wait}`, {
            headers,
          });
    case Resource.CONCURRENCY:
      return new AppError(
        'rate_limit_exceeded',
        `The limit of ${limit} requests at a time is reached. ${wait}`,
        { headers },
      );
    default:
      return new AppError(
        'rate_limit_exceeded',
        `The limit of ${limit} requests per minute is reached. ${wait}`,
        { headers },
      );
  }
}

const lowerMaxTokens = 'Lower max_tokens or shorten the prompt.';
