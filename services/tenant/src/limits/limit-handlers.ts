import type { LimitState, limitsQuery } from '@gatehouse/contract/limits';
import type { Call, Handler } from '@gatehouse/http/app';
import { isTenantPrincipal, type TenantPrincipal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import type { RunFacts } from '@gatehouse/kit/policy-matching';
import type { DescribeAgents } from '../shared/agents-client.ts';
import type { z } from 'zod';
import { showLimit, tightest, type CallerLimit, type FindPolicyLimits } from './caller-limits.ts';
import { setResources, type SetResource } from './leases.ts';
import type { MemoryAmounts } from './stored-limits.ts';
import type { FindMemoryUsage } from './memory-usage-client.ts';
import type { LimitStore, Limited } from './limit-store.ts';

type Get = Call<unknown, z.output<typeof limitsQuery>>;

export interface LimitDependencies {
  store: LimitStore;
  findPolicyLimits: FindPolicyLimits;
  findMemoryUsage: FindMemoryUsage;
  describeAgents: DescribeAgents;
}

/** `GET /v1/limits`: the limits of the caller's next request, or of another's, and how much of each is used. */
export function limitHandlers({
  store,
  findPolicyLimits,
  findMemoryUsage,
  describeAgents,
}: LimitDependencies): Record<string, Handler> {
  return {
    'limits.get': async (call: Get) => {
      const { principal, query } = call;
      // An owner key belongs to no tenant and has no limits.
      if (!isTenantPrincipal(principal)) return { body: { timezone: 'UTC', limits: [] } };
      if (Object.keys(query).length > 0 && !principal.scopes.includes('policies.write'))
        throw new AppError('scope_missing', 'The API key lacks the scope policies.write.');
      const { tenantId } = principal;
      const { agent_id: agentId } = query;
      const [agent] = agentId === undefined ? [] : await describeAgents(tenantId, { ids: [agentId] }, call);
      const facts = factsOf(principal, query, agent?.key ?? '');
      const [{ limits, memoryLimits, timezone }, policyLimits, memoryUse] = await Promise.all([
        store.find(tenantId, facts.apiKeyId === null ? [] : [facts.apiKeyId]),
        findPolicyLimits(tenantId, { facts, model: query.model ?? null }),
        findMemoryUsage(tenantId, call),
      ]);
      const callerLimits = [...limits.filter(isSet).map(callerLimit), ...policyLimits];
      return {
        body: {
          timezone,
          limits: [...tightest(callerLimits).map(showLimit), ...showMemory(memoryLimits, memoryUse)],
        },
      };
    },
  };
}

/** The caller's next run. Another user has runs by any key. */
function factsOf(
  { keyId, boundUser }: TenantPrincipal,
  { user_id: other, session_id: sessionId, agent_id: agentId }: Get['query'],
  agentKey: string,
): RunFacts {
  return {
    userId: other ?? boundUser,
    // Those of the directory, which are looked up.
    groups: [],
    agent: agentId === undefined ? null : { id: agentId, key: agentKey },
    apiKeyId: other === undefined ? keyId : null,
    sessionId: sessionId ?? null,
    ownKey: false,
  };
}

type SetLimit = Limited & { resource: SetResource };

function isSet(limited: Limited): limited is SetLimit {
  return setResources.some((resource) => resource === limited.resource);
}

function callerLimit({ resource, period, limitUse }: SetLimit): CallerLimit {
  const window = resource === 'concurrency' ? null : (period ?? 'minute');
  return { resource, window, limitUse, policy: null, value: null };
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
      ...{ policy: null, value: null },
    };
  });
}
