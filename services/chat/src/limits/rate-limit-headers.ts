import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { Pool } from './pool.ts';

/** Written out: names put together per request took longer than what they name. */
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
export function limitHeaders(pools: readonly Pool[], now: number): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { resource, limit, remaining, reset } of names) {
    const pool = tightest(pools, resource);
    if (pool === null) continue;
    headers[limit] = String(pool.limit);
    headers[remaining] = String(pool.remaining);
    headers[reset] = `${(Math.max(0, pool.resetsAt - now) / 1_000).toFixed(3)}s`;
  }
  return headers;
}

function tightest(pools: readonly Pool[], resource: Resource): Pool | null {
  let least: Pool | null = null;
  for (const pool of pools) {
    if (pool.resource !== resource || pool.limit === null) continue;
    if (least === null || pool.remaining < least.remaining) least = pool;
  }
  return least;
}
