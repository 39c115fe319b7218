import type { Rpc } from '@gatehouse/grpc/server';
import { AppError } from '@gatehouse/kit/errors';
import type { ResolveAgentRequest, ResolveAgentResponse } from '@gatehouse/proto/agent/v1/agent';
import { visibilityOf } from '../domain/visibility.ts';
import type { AgentStore } from '../store/agent-store.ts';
import { principalOf, toMessage } from './messages.ts';

/** The agent with this id or key, as far as the principal may see it. */
export function resolveAgent(agents: AgentStore): Rpc<ResolveAgentRequest, ResolveAgentResponse> {
  return {
    callers: ['chat'],
    handle: async ({ idOrKey }, context) => {
      const principal = principalOf(context);
      const agent = await agents.find(principal.tenantId, idOrKey, visibilityOf(principal));
      if (agent === null) throw new AppError('not_found', 'There is no such agent.');
      return { agent: toMessage(agent) };
    },
  };
}
