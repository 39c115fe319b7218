import { tenantOf, type Rpc } from '@gatehouse/grpc/server';
import { AppError } from '@gatehouse/kit/errors';
import type {
  Agent as AgentMessage,
  ResolveAgentRequest,
  ResolveAgentResponse,
} from '@gatehouse/proto/agent/v1/agent';
import type { Agent } from '../agents/agent.ts';
import { viewerOf } from '../agents/viewer.ts';
import type { AgentStore } from '../store/agent-store.ts';
import { epochSeconds } from './epoch-seconds.ts';

/** The agent with this id or key; `not_found` when the principal may not see it. */
export function resolveAgent(agents: AgentStore): Rpc<ResolveAgentRequest, ResolveAgentResponse> {
  return {
    callers: ['chat', 'memory', 'webhook'],
    handle: async ({ idOrKey }, context) => {
      const agent = await agents.find(viewerOf(tenantOf(context)), idOrKey);
      if (agent === null) throw new AppError('not_found', 'There is no such agent.');
      return { agent: toMessage(agent) };
    },
  };
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
