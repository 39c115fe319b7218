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
import { AgentTools, type AgentTool } from '../tools/agent-tools.ts';
import { seenServers, type ServerSources } from '../tools/seen-servers.ts';
import { maxToolsetBytes, maxToolsetTools } from '../bounds.ts';
import type { Toolset } from './toolset.ts';

/** A tool of a toolset, with its schema as JSON text. */
export interface ListedTool extends Pick<ToolsetTool, 'name' | 'description' | 'source'> {
  schemaJson: string;
  readOnly: boolean;
}

interface ToolsetView {
  toolset: Toolset;
  /** Its agents, as far as the user can see and use them. */
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

/** The tools of a toolset as a user gets them, in the order of their names. Expired lists are fetched first. */
export async function toolsOf(sources: ServerSources, view: ToolsetView): Promise<ListedTool[]> {
  const { toolset, agents, tenantId, user } = view;
  const { mcp_servers: refs, deny, prefix } = toolset;
  const tools = new AgentTools(refs, { deny, maxTools: maxToolsetTools, maxBytes: maxToolsetBytes });
  for (const seen of await seenServers(sources, refs, { tenantId, user })) {
    if (tools.isFull) break;
    const list = await sources.offered.read(seen);
    await runCooperatively(tenantId, () => tools.add(seen.server, list));
  }
  const agentEntries = agentTools(toolset.agents, agents);
  return runCooperatively(tenantId, () => inOrder(tools.unnamed, agentEntries, prefix));
}

/** The tools with their names, in the order of these. */
function inOrder(
  serverTools: readonly Omit<AgentTool, 'name'>[],
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

export function showTool({ schemaJson, readOnly, ...tool }: ListedTool): ToolsetTool {
  return {
    ...tool,
    // The texts are those of objects.
    input_schema: JSON.parse(schemaJson) as Record<string, unknown>,
    read_only: readOnly,
  };
}

type UnnamedTool = Omit<ListedTool, 'name'>;

function serverRef({ server, tool }: Omit<AgentTool, 'name'>): ToolRef {
  return { server: server.name, tool: tool.name };
}

function fromServer({ server, tool }: Omit<AgentTool, 'name'>): UnnamedTool {
  const { description, schemaJson, readOnly } = tool;
  return { description, schemaJson, readOnly, source: { type: 'mcp_server', name: server.name } };
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
      return [{ ref: ownRef, description, schemaJson: agentSchema, readOnly: false, source }];
    }
    if (!isBuiltin(tool)) return [];
    const schemaJson = JSON.stringify(schemaOf(tool));
    const toolRef: ToolRef = { server: `agent__${key}`, tool, isAgent: true };
    return [
      { ref: toolRef, description: builtinTools[tool].description, schemaJson, readOnly: true, source },
    ];
  });
}

function isBuiltin(name: string): name is BuiltinToolName {
  return builtinToolNames.some((known) => known === name);
}
