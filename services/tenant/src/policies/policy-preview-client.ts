import type { Policy, PolicyPreview } from '@gatehouse/contract/policies';
import type { CallContext, RpcClient } from '@gatehouse/grpc/client';
import { maxDescribedIds } from '@gatehouse/grpc/described-ids';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import type { AnalyticsServiceClient, RunGroup } from '@gatehouse/proto/analytics/v1/analytics';
import { previewDays, previewMs } from '../bounds.ts';
import { describeAgents } from '../shared/agents-client.ts';
import { PreviewSums, propertiesFor } from './policy-preview.ts';
import { findBudgetZone } from './policy-store.ts';

/** Shows what a policy would have counted; null while analytics does not answer. */
export type PreviewPolicy = (
  tenantId: string,
  policy: Policy,
  caller: Pick<CallContext, 'requestId' | 'trace'> & { log: Logger },
) => Promise<PolicyPreview>;

interface PreviewDependencies {
  app: Pool;
  analytics: RpcClient<AnalyticsServiceClient>;
  agent: RpcClient<AgentServiceClient>;
}

/** Groups matched at once, in about a millisecond. */
const matchedAtOnce = 100;

export function previewPolicy({ app, analytics, agent }: PreviewDependencies): PreviewPolicy {
  const describe = describeAgents(agent);
  return async (tenantId, policy, { requestId, trace, log }) => {
    const context = { deadlineMs: previewMs, requestId, trace };
    const period = policy.budget?.period;
    try {
      const timezone = await withTenant(app, tenantId, (db) => findBudgetZone(db, tenantId));
      const request = {
        ...{ tenantId, timezone, days: previewDays, properties: propertiesFor(policy) },
        ...(period !== undefined && period !== 'total' && { period }),
      };
      const { groups, truncated } = await analytics.call('groupRuns', request, context);
      const ids = policy.select.agents.length === 0 ? [] : agentsOf(groups);
      const agents = await describe(tenantId, { ids: ids.slice(0, maxDescribedIds) }, context);
      const sums = new PreviewSums(policy, new Map(agents.map(({ id, key }) => [id, key])));
      for (let from = 0; from < groups.length; from += matchedAtOnce)
        await runCooperatively(tenantId, () => {
          for (const group of groups.slice(from, from + matchedAtOnce)) sums.add(group);
        });
      return sums.preview(truncated || ids.length > maxDescribedIds);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      log.warn({ err: error, tenant_id: tenantId }, 'failed to preview a policy');
      return null;
    }
  };
}

function agentsOf(groups: readonly RunGroup[]): string[] {
  return [...new Set(groups.flatMap(({ agentId }) => agentId ?? []))];
}
