import type { Peer } from '@gatehouse/grpc/client';
import type { AgentServiceClient, CallToolResponse } from '@gatehouse/proto/agent/v1/agent';
import type { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import { ToolSet, type ServerTool } from '../turns/tool-set.ts';
import type { Actor } from './actor.ts';

/** A call of a tool of an agent. */
export interface ToolCallOf {
  agentId: string;
  /** Of the agent's memory. */
  analyser: string;
  tool: ServerTool;
  argumentsJson: string;
}

/** A list that is too old may be fetched first. */
const listDeadlineMs = 5_000;
/** For what is around the call itself. */
const callSpareMs = 5_000;

/**
 * The tools of agents. The agent service executes those of servers, because it alone has their secrets, and the memory
 * service those that read its data.
 */
export class ToolClient {
  readonly #agent: Peer<AgentServiceClient>;
  readonly #memory: Peer<MemoryServiceClient>;

  constructor(agent: Peer<AgentServiceClient>, memory: Peer<MemoryServiceClient>) {
    this.#agent = agent;
    this.#memory = memory;
  }

  async list({ requestId, trace, proofFor }: Actor, agentId: string): Promise<ToolSet> {
    const assertion = await proofFor('agent');
    const context = { deadlineMs: listDeadlineMs, requestId, trace, assertion };
    const { tools } = await this.#agent.call('listTools', { agentId }, context);
    return ToolSet.of(tools);
  }

  /** Throws the reason of `signal`, with which the call of the server ends too. */
  async call(
    { requestId, trace, proofFor }: Actor,
    { agentId, analyser, tool: { tool, serverId, timeoutMs, executor }, argumentsJson }: ToolCallOf,
    signal: AbortSignal,
  ): Promise<CallToolResponse> {
    const service = executor === 'memory' ? 'memory' : 'agent';
    const assertion = await proofFor(service);
    const context = { deadlineMs: timeoutMs + callSpareMs, requestId, trace, assertion, signal };
    return service === 'memory'
      ? this.#memory.call('callTool', { agentId, analyser, tool, argumentsJson }, context)
      : this.#agent.call('callTool', { agentId, serverId, tool, argumentsJson }, context);
  }
}
