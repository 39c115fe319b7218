import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { LeasedLimit } from './leased-limit.ts';

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

/** OpenAI's `x-ratelimit-*` headers, of the limit that is reached first where key and tenant have one. */
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
    if (limit.resource !== resource || limit.max === null) continue;
    if (least === null || limit.remaining < least.remaining) least = limit;
  }
  return least;
}
