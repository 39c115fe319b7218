import { hash } from 'node:crypto';
import {
  builtinToolNames,
  builtinTools,
  schemaOf,
  type BuiltinToolName,
} from '@gatehouse/contract/builtin-tools';
import type { Rpc } from '@gatehouse/grpc/rpc';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import type { ListToolsRequest, ListToolsResponse, Tool } from '@gatehouse/proto/agent/v1/agent';
import { version } from '@gatehouse/kit/version';
import { agentOf } from '../agents/agent-of-rpc.ts';
import type { AgentStore } from '../agents/agent-store.ts';
import type { Agent } from '../agents/agent.ts';
import { partsOf } from '../agents/mcp-refs.ts';
import type { McpRegistry } from '../mcp/mcp-registry.ts';
import type { ServerStore } from '../servers/server-store.ts';
import type { WebFetch } from '../web/web-fetch.ts';
import { AgentTools, serverNames, type AgentTool } from './agent-tools.ts';
import type { OfferedTool, OfferedTools, SeenServer } from './offered-tools.ts';
import { seenServers } from './seen-servers.ts';
import { maxMissing } from '../bounds.ts';

/** Listings of a tenant at the same time. */
const listings = { perKey: 4, maxWaiting: 1_000 };

export interface ListToolsDependencies {
  agents: AgentStore;
  servers: ServerStore;
  offered: OfferedTools;
  registry: McpRegistry;
  webFetch: WebFetch;
}

/**
 * The tools usable by an agent, or their revision alone: those of the gateway, then those of servers. Lists of
 * unresponsive servers are as they were.
 */
export function listTools(dependencies: ListToolsDependencies): Rpc<ListToolsRequest, ListToolsResponse> {
  const turns = new FairQueue(listings);
  return {
    callers: ['chat'],
    acceptsDelegation: true,
    handle: async ({ agentId, revisionOnly }, context) => {
      const { tenantId, agent, userId } = await agentOf(dependencies.agents, context, agentId);
      const { mcp_servers: refs, builtin } = agent.tools;
      const list = async (): Promise<ListToolsResponse> => {
        const seen = await seenServers(dependencies, refs, { tenantId, user: userId });
        const gone = await goneServers(dependencies.servers, tenantId, { refs, seen });
        const revision = revisionOf({ refs, builtin, seen, gone });
        if (revisionOnly) return { revision, tools: [], missing: [] };
        const { tools, missing } = await toolsOf(dependencies.offered, refs, seen);
        return {
          revision,
          tools: [...sendBuiltinTools(builtin), ...tools.map(sendServerTool)],
          missing: [...refs.filter((ref) => gone.includes(partsOf(ref).server)), ...missing].slice(
            0,
            maxMissing,
          ),
        };
      };
      return refs.length === 0 ? list() : turns.run(tenantId, list, context.signal);
    },
  };
}

/** The named servers that the tenant does not have; a disabled one is none of them. */
async function goneServers(
  servers: ServerStore,
  tenantId: string,
  { refs, seen }: { refs: readonly string[]; seen: readonly SeenServer[] },
): Promise<string[]> {
  const unseen = serverNames(refs).filter((name) => !seen.some(({ server }) => server.name === name));
  if (unseen.length === 0) return [];
  const known = await servers.knownNames(tenantId, unseen);
  return unseen.filter((name) => !known.includes(name));
}

/** Covers every source of the texts of the tools, the release too: with the same revision, the list is the same. */
function revisionOf({
  refs,
  builtin,
  seen,
  gone,
}: Pick<Agent['tools'], 'builtin'> & {
  refs: readonly string[];
  seen: readonly SeenServer[];
  gone: readonly string[];
}): string {
  const servers = seen.map(({ server: { name, timeoutMs }, revision, isUnconnected }) => [
    ...[name, timeoutMs, revision, isUnconnected],
  ]);
  return hash('sha256', JSON.stringify([version, builtin, refs, servers, gone]));
}

/** The tools of servers, and the references to tools that a listed server doesn't offer. */
async function toolsOf(
  offered: OfferedTools,
  refs: readonly string[],
  seen: readonly SeenServer[],
): Promise<{ tools: AgentTool[]; missing: string[] }> {
  const tools = new AgentTools(refs);
  const missing: string[] = [];
  // One list after the other: what is beyond the limits of an agent is not read.
  for (const each of seen) {
    if (tools.isFull) break;
    const list = await offered.read(each);
    tools.add(each.server, list);
    if (each.server.toolsUpdatedAt !== null) missing.push(...missingOf(refs, each.server.name, list));
  }
  return { tools: tools.all, missing };
}

function missingOf(refs: readonly string[], server: string, list: readonly OfferedTool[]): string[] {
  const names = new Set(list.map(({ name }) => name));
  return refs.filter((ref) => {
    const parts = partsOf(ref);
    return parts.server === server && parts.tool !== null && !names.has(parts.tool);
  });
}

function sendServerTool({ name, server, tool }: AgentTool): Tool {
  const { description, schemaJson, readOnly, idempotent } = tool;
  return {
    ...{ name, tool: tool.name, description, schemaJson, serverId: server.id, serverName: server.name },
    ...{ repeatable: readOnly || idempotent, timeoutMs: server.timeoutMs, executor: 'agent' },
  };
}

function sendBuiltinTools(names: readonly BuiltinToolName[]): Tool[] {
  return builtinToolNames.filter((name) => names.includes(name)).map(sendBuiltinTool);
}

/** Each only reads. */
function sendBuiltinTool(name: BuiltinToolName): Tool {
  const { description, executor, timeoutMs } = builtinTools[name];
  const schemaJson = JSON.stringify(schemaOf(name));
  return { name, tool: name, description, schemaJson, serverId: '', repeatable: true, timeoutMs, executor };
}
