import { tenantOf, type Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { ListVisibleAgentsRequest, ListVisibleAgentsResponse } from '@gatehouse/proto/agent/v1/agent';
import type { AgentStore } from './agent-store.ts';
import { epochSeconds } from './epoch-seconds.ts';
import { viewerOf } from './viewer.ts';
import { maxPageAgents } from '../bounds.ts';

/** Names of the active agents visible to the principal, newest first, in pages. */
export function listVisibleAgents(
  agents: AgentStore,
): Rpc<ListVisibleAgentsRequest, ListVisibleAgentsResponse> {
  return {
    callers: ['chat'],
    handle: async ({ before }, context) => {
      if (before !== '' && !isUuid(before))
        throw new AppError('invalid_value', 'Invalid value for before: must be an id.', { param: 'before' });
      const page = { limit: maxPageAgents, before: before === '' ? null : before };
      const rows = await agents.listActive(viewerOf(tenantOf(context)), page);
      return {
        agents: rows
          .slice(0, maxPageAgents)
          .map(({ id, key, createdAt }) => ({ id, key, created: epochSeconds(createdAt) })),
        hasMore: rows.length > maxPageAgents,
      };
    },
  };
}
