import { turnTools, type TurnSettings } from '@gatehouse/contract/agents';
import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { picoOf } from '@gatehouse/kit/money';
import type {
  Agent as AgentMessage,
  ResolveAgentRequest,
  ResolveAgentResponse,
  ToolSettings,
} from '@gatehouse/proto/agent/v1/agent';
import { agentOf } from './agent-of-rpc.ts';
import type { AgentStore } from './agent-store.ts';
import type { Agent } from './agent.ts';
import { epochSeconds } from './epoch-seconds.ts';

/**
 * The agent with this id or key. Throws `not_found` if the principal may not see it, or if the delegation's id names no
 * agent; `resource_locked` if it is about to move.
 */
export function resolveAgent(agents: AgentStore): Rpc<ResolveAgentRequest, ResolveAgentResponse> {
  return {
    callers: ['chat', 'memory', 'webhook'],
    acceptsDelegation: true,
    handle: async ({ idOrKey }, context) => {
      const { agent } = await agentOf(agents, context, idOrKey);
      if (agent.isClosed)
        throw new AppError('resource_locked', 'The agent moves to another tenant.', {
          headers: { 'retry-after': '5' },
        });
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
      minScore: memory.min_score,
    },
    settingsJson: JSON.stringify(turnSettings(agent)),
    ...(hasTools(agent.tools) && { tools: toolSettings(agent.tools) }),
  };
}

function turnSettings({ memory, tools }: Agent): TurnSettings {
  return { memory, tools: hasTools(tools) ? turnTools.parse(tools) : null };
}

function hasTools({ mcp_servers: servers, builtin }: Agent['tools']): boolean {
  return servers.length > 0 || builtin.length > 0;
}

function toolSettings({
  max_iterations: maxIterations,
  max_cost_usd: maxCost,
}: Agent['tools']): ToolSettings {
  return {
    maxIterations,
    ...(maxCost !== null && { maxCostPico: picoOf(maxCost).toString() }),
  };
}
