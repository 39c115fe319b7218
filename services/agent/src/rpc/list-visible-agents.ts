import type { Rpc } from '@gatehouse/grpc/server';
import type { ListVisibleAgentsRequest, ListVisibleAgentsResponse } from '@gatehouse/proto/agent/v1/agent';
import { viewerOf } from '../domain/viewer.ts';
import type { AgentStore } from '../store/agent-store.ts';
import { epochSeconds, tenantOf } from './context.ts';

const maxAgents = 1_000;

/** Names of active agents that the principal may see, newest first. */
export function listVisibleAgents(
  agents: AgentStore,
): Rpc<ListVisibleAgentsRequest, ListVisibleAgentsResponse> {
  return {
    callers: ['chat'],
    handle: async (_request, context) => {
      const rows = await agents.listActive(viewerOf(tenantOf(context)), maxAgents);
      return {
        agents: rows.map(({ id, key, createdAt }) => ({ id, key, created: epochSeconds(createdAt) })),
      };
    },
  };
}
