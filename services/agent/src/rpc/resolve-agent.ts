import { actorOf, tenantOf, type Rpc, type RpcContext } from '@gatehouse/grpc/server';
import { AppError } from '@gatehouse/kit/errors';
import type {
  Agent as AgentMessage,
  ResolveAgentRequest,
  ResolveAgentResponse,
} from '@gatehouse/proto/agent/v1/agent';
import type { Agent } from '../agents/agent.ts';
import { viewerOf, type Viewer } from '../agents/viewer.ts';
import type { AgentStore } from '../store/agent-store.ts';
import { epochSeconds } from './epoch-seconds.ts';

/** The agent with this id or key; `not_found` when the principal may not see it, or there is none with the delegation's id. */
export function resolveAgent(agents: AgentStore): Rpc<ResolveAgentRequest, ResolveAgentResponse> {
  return {
    callers: ['chat', 'memory', 'webhook'],
    acceptsDelegation: true,
    handle: async ({ idOrKey }, context) => {
      const agent = await agents.find(viewer(context, idOrKey), idOrKey);
      if (agent === null) throw new AppError('not_found', 'There is no such agent.');
      return { agent: toMessage(agent) };
    },
  };
}

/** A delegation is for an agent that its issuer has checked: also a private one. */
function viewer(context: RpcContext, agentId: string): Viewer {
  if (context.delegation === null) return viewerOf(tenantOf(context));
  return { tenantId: actorOf(context, agentId).tenantId, seesAll: true, user: null };
}

function toMessage(agent: Agent): AgentMessage {
  const { memory } = agent;
  return {
    id: agent.id,
    key: agent.key,
    model: agent.model,
    modelFallbacks: agent.model_fallbacks,
    systemPrompt: agent.system_prompt,
    parametersJson: JSON.stringify(agent.parameters),
    status: agent.status,
    created: epochSeconds(agent.createdAt),
    memory: {
      enabled: memory.enabled,
      recallLimit: memory.recall_limit,
      write: memory.write,
      analyser: memory.analyser,
    },
  };
}
