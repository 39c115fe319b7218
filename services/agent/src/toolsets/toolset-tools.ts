import {
  builtinToolNames,
  builtinTools,
  schemaOf,
  type BuiltinToolName,
} from '@gatehouse/contract/builtin-tools';
import type { ToolsetTool } from '@gatehouse/contract/toolsets';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import type { ActiveAgent } from '../agents/agent.ts';
import { partsOf } from '../agents/mcp-refs.ts';
import { modelNames, type ToolRef } from '../mcp/model-names.ts';
import { AgentTools, toolChoice, type AgentTool } from '../tools/agent-tools.ts';
import { seenServers, type ServerSources } from '../tools/seen-servers.ts';
import { maxToolPageBytes, maxToolsetBytes, maxToolsetTools } from '../bounds.ts';
import type { Toolset } from './toolset.ts';

/** A tool of a server, before it has a name in a list. */
type ServerTool = Omit<AgentTool, 'name'>;

/** A tool of a toolset, with its schema as JSON text. */
export interface ListedTool extends Pick<ToolsetTool, 'name' | 'description' | 'source'> {
  schemaJson: string;
  readOnly: boolean;
  /** Null for an agent, and its tools. */
  offered: ServerTool | null;
}

interface ToolsetView {
  /** Several have the tools of each. */
  toolsets: readonly Pick<Toolset, 'mcp_servers' | 'deny' | 'agents'>[];
  /** Whether the names of tools begin with that of their server. */
  prefix: boolean;
  /** Their agents, as far as the user can see and use them. */
  agents: readonly ActiveAgent[];
  tenantId: string;
  user: string | null;
}

const agentSchema = JSON.stringify({
  type: 'object',
  properties: {
    input: { type: 'string', maxLength: 100_000, description: 'The task or question for the agent' },
    session_id: { type: 'string', description: 'Continues an earlier conversation with the agent' },
  },
  required: ['input'],
  additionalProperties: false,
});

/** The tools of toolsets as a user gets them, in the order of their names. Expired lists are fetched first. */
export async function toolsOf(
  sources: ServerSources,
  { toolsets, prefix, agents, tenantId, user }: ToolsetView,
): Promise<{ tools: ListedTool[]; leftOut: number }> {
  const refs = toolsets.flatMap(({ mcp_servers: servers }) => servers);
  const choices = toolsets.map(({ mcp_servers: servers, deny }) => toolChoice(servers, deny));
  const tools = new AgentTools(choices, { maxTools: maxToolsetTools, maxBytes: maxToolsetBytes });
  for (const seen of await seenServers(sources, refs, { tenantId, user })) {
    const list = await sources.offered.read(seen);
    await runCooperatively(tenantId, () => tools.add(seen.server, list));
  }
  const agentRefs = [...new Set(toolsets.flatMap(({ agents: keys }) => keys))];
  const agentEntries = agentTools(agentRefs, agents);
  const listed = await runCooperatively(tenantId, () => inOrder(tools.unnamed, agentEntries, prefix));
  return { tools: listed, leftOut: tools.leftOut };
}

/** The tools with their names, in the order of these. */
function inOrder(
  serverTools: readonly ServerTool[],
  agentEntries: readonly (UnnamedTool & { ref: ToolRef })[],
  prefix: boolean,
): ListedTool[] {
  const names = prefix
    ? modelNames([...serverTools.map(serverRef), ...agentEntries.map(({ ref }) => ref)])
    : serverTools.map(({ tool }) => tool.name);
  const listed = [...serverTools.map(fromServer), ...agentEntries.map(({ ref: _, ...tool }) => tool)];
  return listed
    .map((tool, index): ListedTool => ({ name: names[index] ?? '', ...tool }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

export function showTool({ schemaJson, readOnly, offered: _, ...tool }: ListedTool): ToolsetTool {
  return {
    ...tool,
    // The texts are those of objects.
    input_schema: JSON.parse(schemaJson) as Record<string, unknown>,
    read_only: readOnly,
  };
}

/** The first tools, as far as their definitions have room in a page: one at least. */
export function firstOf<Tool extends Pick<ListedTool, 'schemaJson' | 'description'>>(
  tools: readonly Tool[],
  limit: number,
): Tool[] {
  let bytes = 0;
  const first = tools.slice(0, limit);
  const end = first.findIndex(({ schemaJson, description }, index) => {
    bytes += Buffer.byteLength(schemaJson) + Buffer.byteLength(description);
    return index > 0 && bytes > maxToolPageBytes;
  });
  return end < 0 ? first : first.slice(0, end);
}

type UnnamedTool = Omit<ListedTool, 'name'>;

function serverRef({ server, tool }: ServerTool): ToolRef {
  return { server: server.name, tool: tool.name };
}

function fromServer(offered: ServerTool): UnnamedTool {
  const { description, schemaJson, readOnly } = offered.tool;
  const source = { type: 'mcp_server', name: offered.server.name } as const;
  return { description, schemaJson, readOnly, source, offered };
}

/** Agents as tools, and single tools of agents: `agent__<key>`, `agent__<key>__<tool>`. */
function agentTools(
  refs: readonly string[],
  agents: readonly ActiveAgent[],
): (UnnamedTool & { ref: ToolRef })[] {
  const byKey = new Map(agents.map((agent) => [agent.key, agent]));
  return refs.flatMap((ref): (UnnamedTool & { ref: ToolRef })[] => {
    const { server: key, tool } = partsOf(ref);
    const agent = byKey.get(key);
    if (agent === undefined) return [];
    const source = { type: 'agent', name: key } as const;
    if (tool === null) {
      const description = agent.description === '' ? agent.name : agent.description;
      const ownRef: ToolRef = { server: 'agent', tool: key, isAgent: true };
      return [{ ref: ownRef, description, schemaJson: agentSchema, readOnly: false, source, offered: null }];
    }
    if (!isBuiltin(tool)) return [];
    const schemaJson = JSON.stringify(schemaOf(tool));
    const toolRef: ToolRef = { server: `agent__${key}`, tool, isAgent: true };
    return [
      {
        ref: toolRef,
        description: builtinTools[tool].description,
        schemaJson,
        readOnly: true,
        source,
        offered: null,
      },
    ];
  });
}

function isBuiltin(name: string): name is BuiltinToolName {
  return builtinToolNames.some((known) => known === name);
}
