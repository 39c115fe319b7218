import type {
  listOwnerPolicyCounters,
  listPolicyCounters,
  OwnerPolicyCounter,
  PolicyCounter,
} from '@gatehouse/contract/policy-counters';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { invalidCursor, pageOf } from '@gatehouse/http/pagination';
import { orNotFound } from '@gatehouse/http/resource';
import { usdOf } from '@gatehouse/kit/money';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { z } from 'zod';
import { showLimit, type CallerLimit } from '../limits/caller-limits.ts';
import type { CounterPage, CounterPlace, CountersOf, ListedCounter } from './listed-counter.ts';
import type { Policy } from './policy.ts';
import { findPolicy } from './policy-store.ts';

type List = Call<unknown, z.output<typeof listPolicyCounters>>;
type OwnerList = Call<unknown, z.output<typeof listOwnerPolicyCounters>>;

export interface CounterDependencies {
  app: Pool;
  system: Queryable;
  listCounters: (policy: CountersOf, page: CounterPage) => Promise<ListedCounter[]>;
}

/** `GET /v1/policies/{policy}/counters`, and the same of the owner for all tenants. */
export function policyCounterHandlers({
  app,
  system,
  listCounters,
}: CounterDependencies): Record<string, Handler> {
  return {
    'policies.counters.list': async (call: List) => {
      const { tenantId } = tenantOf(call);
      const name = { tenantId, idOrName: call.params['policy'] ?? '' };
      const policy = orNotFound(await withTenant(app, tenantId, (db) => findPolicy(db, name)), 'policy');
      const counters = await listCounters({ tenantId, policy }, pageIn(call));
      return {
        body: pageOf(counters, call.query.limit, (counter) => showCounter(policy, counter), cursorOf),
      };
    },

    'owner.policies.counters.list': async (call: OwnerList) => {
      const name = { tenantId: null, idOrName: call.params['policy'] ?? '' };
      const policy = orNotFound(await findPolicy(system, name), 'policy');
      const { tenant_id: tenantId = null } = call.query;
      const counters = await listCounters({ tenantId, policy }, pageIn(call));
      return {
        body: pageOf(counters, call.query.limit, (counter) => showOwnerCounter(policy, counter), cursorOf),
      };
    },
  };
}

function pageIn({ query }: List): CounterPage {
  const { q = null, sort = 'spent', limit, cursor } = query;
  return { q, sort, limit, after: cursor === undefined ? null : placeIn(cursor) };
}

function showOwnerCounter(policy: Policy, counter: ListedCounter): OwnerPolicyCounter {
  const { tenantId, tenantSlug, tenantName } = counter;
  return {
    ...{ tenant: tenantId, tenant_slug: tenantSlug, tenant_name: tenantName },
    ...showCounter(policy, counter),
  };
}

function showCounter({ per }: Policy, counter: ListedCounter): PolicyCounter {
  const { value, used, budget, reserved, limits, resetsAt } = counter;
  const spent = used === null ? null : BigInt(used);
  const most = spent === null || budget === null ? null : BigInt(budget);
  const left = most === null || spent === null ? null : most - spent - reserved;
  return {
    value: per === null ? null : value,
    limits: limits.map(showCountLimit),
    budget_usd: most === null ? null : usdOf(most),
    spent_usd: spent === null ? null : usdOf(spent),
    reserved_usd: spent === null ? null : usdOf(reserved),
    remaining_usd: left === null ? null : usdOf(left > 0n ? left : 0n),
    resets_at: resetsAt === null ? null : resetsAt.toISOString(),
  };
}

function showCountLimit(limited: CallerLimit): PolicyCounter['limits'][number] {
  const { limit, used, remaining, resets_at: resetsAt } = showLimit(limited);
  return {
    // Limits of budgets are not asked for.
    resource: limited.resource as PolicyCounter['limits'][number]['resource'],
    ...{ limit: Number(limit), used: Number(used), remaining: Number(remaining), resets_at: resetsAt },
  };
}

const place = z.strictObject({ key: z.string().regex(/^(-?\d{1,40}|-Infinity)$/), id: z.uuid() });

function cursorOf({ key, id }: CounterPlace): string {
  return Buffer.from(JSON.stringify({ key, id })).toString('base64url');
}

function placeIn(cursor: string): CounterPlace {
  try {
    return place.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
  } catch (error) {
    throw invalidCursor(error);
  }
}
