import type { Rpc } from '@gatehouse/grpc/server';
import type { ListToolsRequest, ListToolsResponse } from '@gatehouse/proto/agent/v1/agent';
import type { McpRegistry } from '../mcp/mcp-registry.ts';
import type { AgentStore } from '../store/agent-store.ts';
import type { McpServerStore } from '../store/mcp-server-store.ts';
import { agentTools, serverNames } from '../tools/agent-tools.ts';
import { agentOf } from './agent-of.ts';

export interface ToolDependencies {
  agents: AgentStore;
  servers: McpServerStore;
  registry: McpRegistry;
}

/** The tools that an agent may use. Lists of servers that do not answer are as they were. */
export function listTools({
  agents,
  servers,
  registry,
}: ToolDependencies): Rpc<ListToolsRequest, ListToolsResponse> {
  return {
    callers: ['chat'],
    acceptsDelegation: true,
    handle: async ({ agentId }, context) => {
      const { tenantId, agent, actingUser } = await agentOf(agents, context, agentId);
      const { mcp_servers: refs } = agent.tools;
      const known = await servers.findEnabled(tenantId, serverNames(refs));
      const listed = await Promise.all(
        known.map(async (server) => ({ server, tools: await registry.toolsOf(server, actingUser) })),
      );
      return {
        tools: agentTools(refs, listed).map(({ name, server, tool }) => ({
          name,
          description: tool.description,
          schemaJson: JSON.stringify(tool.inputSchema),
          serverId: server.id,
          tool: tool.name,
          repeatable: tool.readOnly || tool.idempotent,
          timeoutMs: server.timeoutMs,
        })),
      };
    },
  };
}
