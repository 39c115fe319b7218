import {
  builtinToolNames,
  builtinTools,
  schemaOf,
  type BuiltinToolName,
} from '@gatehouse/contract/builtin-tools';
import type { Rpc } from '@gatehouse/grpc/rpc';
import { monotonicMs } from '@gatehouse/kit/clock';
import { Turns } from '@gatehouse/kit/turns';
import type { ListToolsRequest, ListToolsResponse, Tool } from '@gatehouse/proto/agent/v1/agent';
import type { McpRegistry } from '../mcp/mcp-registry.ts';
import type { AgentStore } from '../store/agent-store.ts';
import type { McpServerStore } from '../store/mcp-server-store.ts';
import type { WebFetch } from '../web/web-fetch.ts';
import { AgentTools, serverNames, type AgentTool } from '../tools/agent-tools.ts';
import { agentOf } from './agent-of.ts';

/** Of a tenant, at the same time. */
const listings = { perKey: 4, maxWaiting: 1_000 };
/** Servers whose lists are in memory at the same time for a listing. */
const maxServers = 8;
/** How long a turn waits for lists that are fetched again. */
const maxWaitMs = 2_000;

export interface ToolDependencies {
  agents: AgentStore;
  servers: McpServerStore;
  registry: McpRegistry;
  webFetch: WebFetch;
}

/** The tools that an agent may use: those of the gateway, then those of servers. Lists of servers that do not answer are as they were. */
export function listTools(dependencies: ToolDependencies): Rpc<ListToolsRequest, ListToolsResponse> {
  const turns = new Turns(listings);
  return {
    callers: ['chat'],
    acceptsDelegation: true,
    handle: async ({ agentId }, context) => {
      const { tenantId, agent, actingUser } = await agentOf(dependencies.agents, context, agentId);
      const { mcp_servers: refs, builtin } = agent.tools;
      const found =
        refs.length === 0
          ? []
          : await turns.run(
              tenantId,
              () => toolsOf(dependencies, refs, { tenantId, user: actingUser }),
              context.signal,
            );
      const ofServers = found.map(({ name, server, tool }) => ({
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

async function toolsOf(
  { servers, registry }: ToolDependencies,
  refs: readonly string[],
  { tenantId, user }: { tenantId: string; user: string | null },
): Promise<AgentTool[]> {
  const tools = new AgentTools(refs);
  const names = serverNames(refs);
  const until = monotonicMs() + maxWaitMs;
  while (names.length > 0 && !tools.isFull) {
    const some = names.splice(0, maxServers);
    const known = await servers.findEnabled(tenantId, some);
    const waitMs = Math.max(0, until - monotonicMs());
    const lists = await Promise.all(
      known.map(async (server) => ({ server, tools: await registry.toolsOf(server, user, waitMs) })),
    );
    for (const { server, tools: list } of lists.toSorted(
      (a, b) => some.indexOf(a.server.name) - some.indexOf(b.server.name),
    ))
      tools.add(server, list);
  }
  return tools.all;
}

/** Each only reads. */
function ofGateway(name: BuiltinToolName): Tool {
  const { description, executor, timeoutMs } = builtinTools[name];
  const schemaJson = JSON.stringify(schemaOf(name));
  return { name, tool: name, description, schemaJson, serverId: '', repeatable: true, timeoutMs, executor };
}
