import type { Rpc } from '@gatehouse/grpc/server';
import type { ListVisibleAgentsRequest, ListVisibleAgentsResponse } from '@gatehouse/proto/agent/v1/agent';
import { visibilityOf } from '../domain/visibility.ts';
import type { AgentStore } from '../store/agent-store.ts';
import { principalOf, toMessage } from './messages.ts';

const maxAgents = 1_000;

/** Active agents that the principal may see, newest first. */
export function listVisibleAgents(
  agents: AgentStore,
): Rpc<ListVisibleAgentsRequest, ListVisibleAgentsResponse> {
  return {
    callers: ['chat'],
    handle: async (_request, context) => {
      const principal = principalOf(context);
      const visibility = visibilityOf(principal);
      const filter = { visibility, status: 'active', limit: maxAgents, before: null };
      const rows = await agents.list(principal.tenantId, filter);
      return { agents: rows.slice(0, maxAgents).map(toMessage) };
    },
  };
}
