import type { Ask, Grant } from '@gatehouse/proto/tenant/v1/tenant';

/** A grant of a limit of 5 that is used up. */
export function nothing(): Grant {
  return { limit: 5n, windowStart: 1n, granted: 0n, remaining: 0n, resetsInMs: 60_000n, validForMs: 2_000n };
}

/** A grant of all that is needed. */
export function amply(needs: readonly bigint[], windowStart = 1n): Grant {
  const granted = needs.reduce((sum, need) => sum + need, 0n);
  const remaining = 10n ** 15n;
  return { limit: remaining, windowStart, granted, remaining, resetsInMs: 60_000n, validForMs: 2_000n };
}

/** The grants of asks; a budget of a session is as large as the request sets it. */
export function grantsOf(asks: readonly Ask[], grant: typeof amply, windowStart: bigint): Grant[] {
  return asks.map(({ needs, sessionBudget }) => ({
    ...grant(needs, windowStart),
    ...(sessionBudget !== undefined && { limit: sessionBudget }),
  }));
}
