import {
  toolset,
  type CreateToolset,
  type PatchToolset,
  type WireToolset,
} from '@gatehouse/contract/toolsets';
import { grants } from '@gatehouse/contract/scopes';
import { toolsetsOf, type TenantPrincipal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import type { z } from 'zod';
import { partsOf, type ListedServer } from '../agents/mcp-refs.ts';
import { serverNames } from '../tools/agent-tools.ts';

/** Settings of a toolset: the wire shape without what the gateway adds. */
const settings = toolset.omit({ id: true, missing: true, created_at: true, updated_at: true });
export type ToolsetSettings = z.output<typeof settings>;
/** The names on the wire, which are those of the columns too. */
export const settingNames = Object.keys(settings.shape) as (keyof ToolsetSettings)[];

export interface Toolset extends ToolsetSettings {
  id: string;
  createdAt: Date;
  updatedAt: Date;
}

/** The caller of a request, as far as it decides which toolsets it may use. */
export interface ToolsetCaller {
  tenantId: string;
  /** Whether it manages the toolsets of the tenant. */
  seesAll: boolean;
  /** The toolsets named by its key; null for all with the visibility `tenant`. */
  names: readonly string[] | null;
}

export function toolsetCallerOf(principal: TenantPrincipal): ToolsetCaller {
  const { tenantId, scopes } = principal;
  return { tenantId, seesAll: grants(scopes, 'mcp.write'), names: toolsetsOf(principal) };
}

/** The settings of a new toolset. Throws when they contradict each other. */
export function newSettings(body: CreateToolset): ToolsetSettings {
  return checked(body);
}

/** The settings after a change. Throws when they contradict each other. */
export function patchedSettings(current: Toolset, patch: PatchToolset): ToolsetSettings {
  const { id: _id, createdAt: _created, updatedAt: _updated, ...before } = current;
  // JSON has no undefined members.
  return checked({ ...before, ...patch } as ToolsetSettings);
}

function checked(wanted: ToolsetSettings): ToolsetSettings {
  const { prefix, mcp_servers: servers, agents } = wanted;
  if (prefix || (serverNames(servers).length === 1 && agents.length === 0)) return wanted;
  throw new AppError(
    'invalid_value',
    'Tools have names without a prefix only in a toolset with exactly one MCP server, and no agent.',
    { param: 'prefix' },
  );
}

/** The servers and agents of a tenant, as far as toolsets name them. */
export interface KnownRefs {
  servers: readonly ListedServer[];
  /** Keys of agents in the sight of the caller. */
  agents: readonly string[];
}

/** The references to missing servers, tools and agents, each once. */
function missingRefs({ mcp_servers: refs, deny, agents }: ToolsetSettings, known: KnownRefs): string[] {
  const servers = new Map(known.servers.map(({ name, tools }) => [name, tools && new Set(tools)]));
  const knownAgents = new Set(known.agents);
  const isMissing = (ref: string): boolean => {
    const { server, tool } = partsOf(ref);
    const tools = servers.get(server);
    return tools === undefined || (tool !== null && tools !== null && !tools.has(tool));
  };
  return [
    ...new Set([...refs, ...deny].filter(isMissing)),
    ...agents.filter((ref) => !knownAgents.has(agentKeyOf(ref))),
  ];
}

/** The key in a reference: `key` or `key/tool`. */
export function agentKeyOf(ref: string): string {
  return partsOf(ref).server;
}

export function showToolset({ createdAt, updatedAt, ...stored }: Toolset, known: KnownRefs): WireToolset {
  return {
    ...stored,
    missing: missingRefs(stored, known),
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}
