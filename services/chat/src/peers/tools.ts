import type { Peer } from '@gatehouse/grpc/client';
import type { AgentServiceClient, CallToolResponse, Tool } from '@gatehouse/proto/agent/v1/agent';
import type { Actor } from './actor.ts';

/** A tool that the agent service calls. */
export interface ServerTool extends Omit<Tool, 'schemaJson' | 'description'> {
  /** As a model gets it: the JSON text of OpenAI's `tools[]`. */
  definition: string;
}

/** A list that is too old may be fetched first. */
const listDeadlineMs = 5_000;
/** For what is around the call itself. */
const callSpareMs = 5_000;

/** The tools of agents, which the agent service executes: it alone has their secrets. */
export class ToolClient {
  readonly #peer: Peer<AgentServiceClient>;

  constructor(peer: Peer<AgentServiceClient>) {
    this.#peer = peer;
  }

  async list({ requestId, trace, proofFor }: Actor, agentId: string): Promise<ServerTool[]> {
    const assertion = await proofFor('agent');
    const context = { deadlineMs: listDeadlineMs, requestId, trace, assertion };
    const { tools } = await this.#peer.call('listTools', { agentId }, context);
    return tools.map(({ schemaJson, description, ...tool }) => ({
      ...tool,
      definition: `{"type":"function","function":{"name":${JSON.stringify(tool.name)},"description":${JSON.stringify(description)},"parameters":${schemaJson}}}`,
    }));
  }

  /** Throws the reason of `signal`, with which the call of the server ends too. */
  async call(
    { requestId, trace, proofFor }: Actor,
    { agentId, tool, argumentsJson }: { agentId: string; tool: ServerTool; argumentsJson: string },
    signal: AbortSignal,
  ): Promise<CallToolResponse> {
    const assertion = await proofFor('agent');
    const deadlineMs = tool.timeoutMs + callSpareMs;
    return this.#peer.call(
      'callTool',
      { agentId, serverId: tool.serverId, tool: tool.tool, argumentsJson },
      { deadlineMs, requestId, trace, assertion, signal },
    );
  }
}
