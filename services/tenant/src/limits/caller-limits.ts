import type { LimitState } from '@gatehouse/contract/limits';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { usdOf } from '@gatehouse/kit/money';
import type { RunFacts } from '@gatehouse/kit/policy-matching';
import { taken, type LimitUse, type SetResource } from './leases.ts';

/** A limit of the next run of a caller. */
export interface CallerLimit {
  resource: SetResource;
  window: LimitState['window'];
  limitUse: LimitUse;
  /** Null for a limit of the tenant or of the key. */
  policy: string | null;
  /** The value counted by the policy; null for all of its runs. */
  value: string | null;
}

/** A run for which limits are wanted. */
export interface RunToLimit {
  facts: RunFacts;
  /** Null for the limits of every model. */
  model: string | null;
}

/** Finds the limits of policies that refuse runs like this one. */
export type FindPolicyLimits = (tenantId: string, run: RunToLimit) => Promise<readonly CallerLimit[]>;

/** Keeps the limit with the least remaining of those of one resource and window. */
export function tightest(limits: readonly CallerLimit[]): CallerLimit[] {
  const byWindow = Map.groupBy(limits, ({ resource, window }) => cacheKey(resource, window));
  return [...byWindow.values()].flatMap((same) =>
    same.reduce((least, next) => (remaining(next) < remaining(least) ? next : least), same[0] as CallerLimit),
  );
}

function remaining({ limitUse }: CallerLimit): bigint {
  const left = limitUse.limit - taken(limitUse);
  return left > 0n ? left : 0n;
}

/** A limit as it is shown. */
export function showLimit(limited: CallerLimit): LimitState {
  const { resource, limitUse, window, policy, value } = limited;
  const isBudget = resource === 'budget';
  const amount = isBudget ? usdOf : Number;
  const { end } = limitUse.window;
  return {
    resource,
    window,
    limit: amount(limitUse.limit),
    used: amount(isBudget ? limitUse.used : taken(limitUse)),
    reserved: amount(isBudget ? limitUse.inUse : 0n),
    remaining: amount(remaining(limited)),
    resets_at: end === null ? null : new Date(end).toISOString(),
    ...{ policy, value },
  };
}
