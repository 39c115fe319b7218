import { hash } from 'node:crypto';
import type { McpTrust } from '@gatehouse/contract/mcp-servers';
import { sameText } from '@gatehouse/public-access/same-text';
import type { McpTool } from './mcp-tool.ts';
import { maxAccepted, maxListBytes } from '../bounds.ts';

/** The parts of a tool used by models and the gateway. */
export type ToolDefinition = Pick<McpTool, 'description' | 'inputSchema' | 'readOnly' | 'idempotent'>;

/** The accepted definition of a tool. */
export interface AcceptedTool {
  name: string;
  digest: string;
  /** Kept while the server lists another one, as far as there is room for it. */
  definition?: ToolDefinition;
  /** Whether another definition waits for a review, and was announced. */
  pending?: true;
}

/** A tool with another definition than the accepted one. */
export interface ToolChange {
  tool: McpTool;
  /** Null if it is no longer known. */
  accepted: ToolDefinition | null;
}

/** Digest of everything used of a tool by models and the gateway, whatever the order of members. */
export function digestOf(tool: McpTool): string {
  const { name, description, inputSchema, readOnly, idempotent } = tool;
  return (
    tool.digest ??
    hash('sha256', JSON.stringify(sorted([name, description, inputSchema, readOnly, idempotent])))
  );
}

/** Returns what decides whether agents may use a tool as it is defined now. */
export function acceptance({
  trust,
  accepted,
}: {
  trust: McpTrust;
  accepted: readonly AcceptedTool[];
}): (tool: McpTool) => boolean {
  if (trust === 'follow') return () => true;
  const byName = Map.groupBy(accepted, ({ name }) => name);
  return (tool) => {
    const known = byName.get(tool.name);
    // Lists from before definitions were compared lack accepted ones.
    if (known === undefined) return accepted.length < maxAccepted;
    const digest = digestOf(tool);
    return known.some((each) => sameText(each.digest, digest));
  };
}

/**
 * Returns the accepted tools after a server has listed its own. A tool with a new name is accepted, unless the server
 * has named a thousand; another definition of a known one waits for a review, also if the tool was not listed for a
 * while. Only digests are kept of unlisted tools: a server may name others each time.
 */
export function reviewed(
  before: { tools: readonly McpTool[]; accepted: readonly AcceptedTool[] },
  listed: readonly McpTool[],
  trust: McpTrust,
): { accepted: AcceptedTool[]; changes: ToolChange[] } {
  const last = new Map(before.tools.map((tool) => [tool.name, tool]));
  // Tools listed before definitions were compared are accepted.
  const known = new Map<string, AcceptedTool>([
    ...before.tools.map((tool) => [tool.name, { name: tool.name, digest: digestOf(tool) }] as const),
    ...before.accepted.map((entry) => [entry.name, entry] as const),
  ]);
  const names = new Set(listed.map(({ name }) => name));
  const accepted: AcceptedTool[] = [...known.values()]
    .filter(({ name }) => !names.has(name))
    .map(({ definition: _, ...entry }) => entry);
  const room = { bytes: maxListBytes };
  const changes: ToolChange[] = [];
  for (const tool of listed) {
    const [digest, entry] = [digestOf(tool), known.get(tool.name)];
    const isNew = entry === undefined && accepted.length < maxAccepted;
    const isSame = entry !== undefined && sameText(entry.digest, digest);
    if (trust === 'follow' || isNew || isSame) accepted.push({ name: tool.name, digest });
    else if (entry !== undefined) {
      const next = { ...acceptedEntry(entry, last.get(tool.name), room), pending: true as const };
      accepted.push(next);
      if (entry.pending !== true) changes.push({ tool, accepted: next.definition ?? null });
    }
  }
  return { accepted, changes };
}

/** With the definition if it is known and there is room. */
function acceptedEntry(
  { definition: before, ...entry }: AcceptedTool,
  last: McpTool | undefined,
  room: { bytes: number },
): AcceptedTool {
  const definition =
    before ?? (last !== undefined && sameText(digestOf(last), entry.digest) ? definitionOf(last) : undefined);
  const bytes = definition === undefined ? 0 : Buffer.byteLength(JSON.stringify(definition));
  if (definition === undefined || bytes > room.bytes) return entry;
  room.bytes -= bytes;
  return { ...entry, definition };
}

function definitionOf({ description, inputSchema, readOnly, idempotent }: McpTool): ToolDefinition {
  return { description, inputSchema, readOnly, idempotent };
}

/** The same with the members of all objects in order. The depth of a schema is limited where it is read. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, sorted(member)] as const);
  // An object is not the list of its members.
  return { members: members.sort(([a], [b]) => (a < b ? -1 : 1)) };
}
