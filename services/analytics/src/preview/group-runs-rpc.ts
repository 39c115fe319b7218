import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import { cappedPico } from '@gatehouse/kit/money';
import {
  RunProperty,
  type GroupRunsRequest,
  type GroupRunsResponse,
  type RunGroup,
} from '@gatehouse/proto/analytics/v1/analytics';
import { groupBounds, maxGroupedDays } from '../bounds.ts';
import type { GroupedRuns, GroupRunsStore } from './group-runs-store.ts';

const periods = ['hour', 'day', 'week', 'month', 'quarter', 'year'];

/** Returns runs of a tenant in groups. */
export function groupRuns(store: GroupRunsStore): Rpc<GroupRunsRequest, GroupRunsResponse> {
  return {
    callers: ['tenant'],
    handle: async ({ tenantId, days, properties, period = null, timezone }) => {
      if (!isUuid(tenantId) || days < 1 || days > maxGroupedDays)
        throw new AppError(
          'invalid_value',
          `Runs of ${maxGroupedDays} days of one tenant are grouped at most.`,
        );
      if (period !== null && !periods.includes(period))
        throw new AppError('invalid_value', `Invalid value for period: must be one of ${periods.join()}.`);
      const has = (property: RunProperty): boolean => properties.includes(property);
      const by = {
        ...{ user: has(RunProperty.USER), groups: has(RunProperty.GROUPS), agent: has(RunProperty.AGENT) },
        ...{
          apiKey: has(RunProperty.API_KEY),
          session: has(RunProperty.SESSION),
          model: has(RunProperty.MODEL),
        },
      };
      const { groups, isCut } = await store.groupRuns(tenantId, { days, by, period, timezone }, groupBounds);
      return {
        groups: groups.slice(0, groupBounds.maxGroups).map(showGroup),
        truncated: isCut || groups.length > groupBounds.maxGroups,
      };
    },
  };
}

function showGroup({ userId, agentId, apiKeyId, sessionId, model, groups, ...sums }: GroupedRuns): RunGroup {
  return {
    ...{ userId: userId ?? undefined, agentId: agentId ?? undefined, apiKeyId: apiKeyId ?? undefined },
    ...{ sessionId: sessionId ?? undefined, model: model ?? undefined, groups: groups ?? [] },
    windowStart: BigInt(sums.windowStart),
    runs: BigInt(sums.runs),
    costPico: cappedPico(BigInt(sums.costPico)),
  };
}
