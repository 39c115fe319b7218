import type { PatchToolset, WireToolset } from '@gatehouse/contract/toolsets';
import { changesOf, trimmed } from '../format/changes.ts';

export const visibilities: Readonly<Record<WireToolset['visibility'], string>> = {
  tenant: 'all keys that name no toolsets',
  named: 'keys that name it',
};

export const prefixes = { true: 'server__tool', false: 'tool, as its one server has it' } as const;

/** The fields of a toolset. */
export interface ToolsetDraft extends Pick<WireToolset, 'name' | 'description' | 'visibility'> {
  mcp_servers: readonly string[];
  deny: readonly string[];
  agents: readonly string[];
  prefix: keyof typeof prefixes;
}

export const newToolset: ToolsetDraft = {
  ...{ name: '', description: '', mcp_servers: [], deny: [], agents: [], prefix: 'true' },
  visibility: 'tenant',
};

export function toolsetDraft(toolset: WireToolset): ToolsetDraft {
  const { name, description, mcp_servers, deny, agents, visibility, prefix } = toolset;
  return { name, description, mcp_servers, deny, agents, visibility, prefix: prefix ? 'true' : 'false' };
}

export function toolsetBody(draft: ToolsetDraft) {
  const { mcp_servers: servers, deny, agents, prefix } = draft;
  return {
    ...draft,
    ...{ mcp_servers: trimmed(servers), deny: trimmed(deny), agents: trimmed(agents) },
    prefix: prefix === 'true',
  };
}

/** The changed settings. */
export function toolsetChanges(before: ToolsetDraft, after: ToolsetDraft): PatchToolset {
  return changesOf(toolsetBody(before), toolsetBody(after));
}
