import { tenantOf, type Rpc } from '@gatehouse/grpc/rpc';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import type {
  ListToolsetToolsRequest,
  ListToolsetToolsResponse,
  ToolsetTool,
} from '@gatehouse/proto/agent/v1/agent';
import type { AgentStore } from '../agents/agent-store.ts';
import { viewerOf } from '../agents/viewer.ts';
import type { ServerSources } from '../tools/seen-servers.ts';
import type { ToolsetStore } from './toolset-store.ts';
import { firstOf, toolsOf, type ListedTool } from './toolset-tools.ts';
import { agentKeyOf } from './toolset.ts';
import { usableToolsets } from './toolsets-of-rpc.ts';
import { parallelListings } from '../bounds.ts';

export interface ListToolsetToolsDependencies {
  toolsets: ToolsetStore;
  agents: AgentStore;
  sources: ServerSources;
}

/** The tools of MCP servers in toolsets, with the names that `/v1/toolsets/{toolset}/tools` shows. */
export function listToolsetTools({
  toolsets: store,
  agents,
  sources,
}: ListToolsetToolsDependencies): Rpc<ListToolsetToolsRequest, ListToolsetToolsResponse> {
  const turns = new FairQueue(parallelListings);
  return {
    callers: ['chat'],
    handle: async ({ toolset, after, limit, name }, context) => {
      const principal = tenantOf(context);
      const { description, ...usable } = await usableToolsets(store, context, toolset);
      const { tenantId } = usable;
      const list = async (): Promise<ListToolsetToolsResponse> => {
        const keys = new Set(usable.toolsets.flatMap(({ agents: refs }) => refs.map(agentKeyOf)));
        // Names of tools depend on those of agents.
        const active = keys.size === 0 ? [] : await agents.findActive(viewerOf(principal), [...keys]);
        const { tools, leftOut } = await toolsOf(sources, { ...usable, agents: active });
        const rest = tools.filter((tool) => (name === undefined ? tool.name > after : tool.name === name));
        const serverTools = rest.filter(({ offered }) => offered !== null);
        const page = firstOf(serverTools, limit);
        return {
          tools: page.flatMap(sendTool),
          hasMore: page.length < serverTools.length,
          leftOut,
          description,
        };
      };
      return usable.toolsets.length === 0
        ? { tools: [], hasMore: false, leftOut: 0, description }
        : turns.run(tenantId, list, context.signal);
    },
  };
}

function sendTool({ name, offered }: ListedTool): ToolsetTool[] {
  if (offered === null) return [];
  const { server, tool } = offered;
  const { description, schemaJson, readOnly, idempotent } = tool;
  return [
    {
      ...{ name, description, schemaJson, serverId: server.id, serverName: server.name, tool: tool.name },
      ...{ timeoutMs: server.timeoutMs, readOnly, idempotent },
    },
  ];
}
