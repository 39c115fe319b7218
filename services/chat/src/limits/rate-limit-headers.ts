import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { Pool } from './pool.ts';

/** OpenAI's `x-ratelimit-*` headers, of the limit that is reached first where key and tenant have one. */
export function limitHeaders(pools: readonly Pool[], now: number): Record<string, string> {
  return {
    ...headersOf('requests', tightest(pools, Resource.REQUESTS), now),
    ...headersOf('tokens', tightest(pools, Resource.TOKENS), now),
  };
}

function tightest(pools: readonly Pool[], resource: Resource): Pool | null {
  let least: Pool | null = null;
  for (const pool of pools) {
    if (pool.resource !== resource || pool.limit === null) continue;
    if (least === null || pool.remaining < least.remaining) least = pool;
  }
  return least;
}

function headersOf(name: string, pool: Pool | null, now: number): Record<string, string> {
  if (pool === null) return {};
  return {
    [`x-ratelimit-limit-${name}`]: String(pool.limit),
    [`x-ratelimit-remaining-${name}`]: String(pool.remaining),
    [`x-ratelimit-reset-${name}`]: `${(Math.max(0, pool.resetsAt - now) / 1_000).toFixed(3)}s`,
  };
}
