import {
  builtinToolNames,
  builtinTools,
  schemaOf,
  type BuiltinToolName,
} from '@gatehouse/contract/builtin-tools';
import type { Rpc } from '@gatehouse/grpc/server';
import { CallSlots } from '@gatehouse/kit/call-slots';
import type { ListToolsRequest, ListToolsResponse, Tool } from '@gatehouse/proto/agent/v1/agent';
import type { McpRegistry } from '../mcp/mcp-registry.ts';
import type { AgentStore } from '../store/agent-store.ts';
import type { McpServerStore } from '../store/mcp-server-store.ts';
import type { WebFetch } from '../web/web-fetch.ts';
import { agentTools, serverNames } from '../tools/agent-tools.ts';
import { agentOf } from './agent-of.ts';

/** Lists of a tenant that are read at the same time. */
const maxListings = 4;

export interface ToolDependencies {
  agents: AgentStore;
  servers: McpServerStore;
  registry: McpRegistry;
  webFetch: WebFetch;
}

/** The tools that an agent may use: those of the gateway, then those of servers. Lists of servers that do not answer are as they were. */
export function listTools({
  agents,
  servers,
  registry,
}: ToolDependencies): Rpc<ListToolsRequest, ListToolsResponse> {
  const slots = new CallSlots(maxListings);
  return {
    callers: ['chat'],
    acceptsDelegation: true,
    handle: async ({ agentId }, context) => {
      const { tenantId, agent, actingUser } = await agentOf(agents, context, agentId);
      const { mcp_servers: refs, builtin } = agent.tools;
      const names = serverNames(refs);
      // The lists of many servers are large.
      const listed =
        names.length === 0
          ? []
          : await slots.run(tenantId, context.signal, async () => {
              const known = await servers.findEnabled(tenantId, names);
              return Promise.all(
                known.map(async (server) => ({ server, tools: await registry.toolsOf(server, actingUser) })),
              );
            });
      const ofServers = agentTools(refs, listed).map(({ name, server, tool }) => ({
        ...{ name, tool: tool.name, description: tool.description, serverId: server.id },
        schemaJson: JSON.stringify(tool.inputSchema),
        repeatable: tool.readOnly || tool.idempotent,
        timeoutMs: server.timeoutMs,
        executor: 'agent',
      }));
      return {
        tools: [...builtinToolNames.filter((name) => builtin.includes(name)).map(ofGateway), ...ofServers],
      };
    },
  };
}

/** Each only reads. */
function ofGateway(name: BuiltinToolName): Tool {
  const { description, executor, timeoutMs } = builtinTools[name];
  const schemaJson = JSON.stringify(schemaOf(name));
  return { name, tool: name, description, schemaJson, serverId: '', repeatable: true, timeoutMs, executor };
}
