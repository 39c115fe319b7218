import type { LimitState } from '@gatehouse/contract/limits';
import type { Call, Handler } from '@gatehouse/http/app';
import { isTenantPrincipal } from '@gatehouse/identity/principal';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { usdOf } from '@gatehouse/kit/money';
import { setResources, taken, type SetResource } from './leases.ts';
import type { MemoryAmounts } from './stored-limits.ts';
import type { FindMemoryUsage } from './memory-usage-client.ts';
import type { LimitStore, Limited } from './limit-store.ts';

/** `GET /v1/limits`: the limits of the calling key, and how much of each is used. */
export function limitHandlers(store: LimitStore, findMemoryUsage: FindMemoryUsage): Record<string, Handler> {
  return {
    'limits.get': async (call: Call) => {
      const { principal } = call;
      // An owner key belongs to no tenant and has no limits.
      if (!isTenantPrincipal(principal)) return { body: { timezone: 'UTC', limits: [] } };
      const [{ limits, memoryLimits, timezone }, memoryUse] = await Promise.all([
        store.find(principal.tenantId, principal.keyId),
        findMemoryUsage(principal.tenantId, call),
      ]);
      return {
        body: {
          timezone,
          limits: [...tightest(limits.filter(isSet)).map(showLimit), ...showMemory(memoryLimits, memoryUse)],
        },
      };
    },
  };
}

type SetLimit = Limited & { resource: SetResource };

function isSet(limited: Limited): limited is SetLimit {
  return setResources.some((resource) => resource === limited.resource);
}

/** Keeps the limit with less remaining if the tenant and the key both limit a resource in the same window. */
function tightest(limits: readonly SetLimit[]): SetLimit[] {
  const byWindow = Map.groupBy(limits, ({ resource, period }) => cacheKey(resource, period));
  return [...byWindow.values()].flatMap((same) =>
    same.reduce((least, next) => (remaining(next) < remaining(least) ? next : least), same[0] as SetLimit),
  );
}

function remaining({ limitUse }: Limited): bigint {
  const left = limitUse.limit - taken(limitUse);
  return left > 0n ? left : 0n;
}

function showLimit(limited: SetLimit): LimitState {
  const { resource, limitUse, period } = limited;
  const isBudget = resource === 'budget';
  const amount = isBudget ? usdOf : Number;
  const { end } = limitUse.window;
  return {
    resource,
    window: resource === 'concurrency' ? null : (period ?? 'minute'),
    limit: amount(limitUse.limit),
    used: amount(isBudget ? limitUse.used : taken(limitUse)),
    reserved: amount(isBudget ? limitUse.inUse : 0n),
    remaining: amount(remaining(limited)),
    resets_at: end === null ? null : new Date(end).toISOString(),
  };
}

/** `use` is null while it is unknown. */
function showMemory(limits: MemoryAmounts, use: MemoryAmounts | null): LimitState[] {
  return (['documents', 'bytes', 'entities'] as const).map((amount) => {
    const limit = limits[amount];
    const used = use?.[amount] ?? null;
    return {
      resource: `memory_${amount}`,
      window: null,
      limit,
      used,
      reserved: 0,
      remaining: used === null ? null : Math.max(0, limit - used),
      resets_at: null,
    };
  });
}
