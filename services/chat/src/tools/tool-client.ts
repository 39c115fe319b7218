import { workDeadlineMs } from '@gatehouse/kit/bounds';
import type { RpcClient } from '@gatehouse/grpc/client';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { SharedCalls } from '@gatehouse/kit/shared-calls';
import { TenantCache } from '@gatehouse/kit/tenant-cache';
import type {
  AgentServiceClient,
  CallToolResponse,
  ListToolsResponse,
} from '@gatehouse/proto/agent/v1/agent';
import type { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import { ToolSet, type AgentToolCall, type ToolDialect } from './tool-set.ts';
import type { ProvenActor } from '../shared/actor.ts';
import { toolSpareMs } from '../bounds.ts';

const cacheLimits = { maxBytes: 64 * 1024 * 1024, maxBytesPerTenant: 16 * 1024 * 1024 };

/**
 * The tools of agents. The agent service executes those of servers, because it alone has their secrets, and the memory
 * service those for reading its data.
 */
export class ToolClient {
  readonly #agent: RpcClient<AgentServiceClient>;
  readonly #memory: RpcClient<MemoryServiceClient>;
  readonly #sets = new TenantCache<ToolSet>({ ...cacheLimits, bytesOf: ({ bytes }) => bytes });
  readonly #lists = new SharedCalls<ToolSet>();

  constructor(agent: RpcClient<AgentServiceClient>, memory: RpcClient<MemoryServiceClient>) {
    this.#agent = agent;
    this.#memory = memory;
  }

  /**
   * The tools of an agent as they are now, as models of a dialect get them. The set is cached by its revision, which is
   * asked for each time.
   */
  async list(
    { requestId, trace, tenantId, userId, proofFor }: ProvenActor,
    agentId: string,
    dialect: ToolDialect,
  ): Promise<ToolSet> {
    const assertion = await proofFor('agent');
    const list = (revisionOnly: boolean): Promise<ListToolsResponse> => {
      const context = { deadlineMs: workDeadlineMs, requestId, trace, assertion };
      return this.#agent.call('listTools', { agentId, revisionOnly }, context);
    };
    const { revision: current } = await list(true);
    const known = this.#sets.get(tenantId, cacheKey(dialect.name, current));
    if (known !== undefined) return known;
    return this.#lists.get(cacheKey(dialect.name, tenantId, agentId, userId, current), async () => {
      const { revision, ...listed } = await list(false);
      // Takes 10 ms for 2 MB.
      const set = await runCooperatively(tenantId, () => ToolSet.forDialect(listed, dialect));
      this.#sets.set(tenantId, cacheKey(dialect.name, revision), set);
      return set;
    });
  }

  /** Throws the reason of `signal`, with which the call of the server ends too. */
  async call(
    { requestId, trace, proofFor }: ProvenActor,
    { agentId, analyser, tool: { tool, serverId, timeoutMs, executor }, argumentsJson }: AgentToolCall,
    signal: AbortSignal,
  ): Promise<CallToolResponse> {
    const service = executor === 'memory' ? 'memory' : 'agent';
    const assertion = await proofFor(service);
    const context = { deadlineMs: timeoutMs + toolSpareMs, requestId, trace, assertion, signal };
    return service === 'memory'
      ? this.#memory.call('callTool', { agentId, analyser, tool, argumentsJson }, context)
      : this.#agent.call('callTool', { agentId, serverId, tool, argumentsJson }, context);
  }
}
