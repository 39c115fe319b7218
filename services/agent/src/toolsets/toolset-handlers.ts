import type { Changes } from '@gatehouse/audited-changes/changes';
import {
  maxToolsFound,
  type CreateToolset,
  type listToolsets,
  type listToolsetTools,
  type PatchToolset,
} from '@gatehouse/contract/toolsets';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { decodeCursor, encodeCursor, invalidCursor, pageOf } from '@gatehouse/http/pagination';
import { orNotFound } from '@gatehouse/http/resource';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import type { z } from 'zod';
import type { AgentStore } from '../agents/agent-store.ts';
import { viewerOf } from '../agents/viewer.ts';
import type { ServerSources } from '../tools/seen-servers.ts';
import { maxToolPageBytes } from '../bounds.ts';
import { bestTools } from './tool-search.ts';
import { showTool, toolsOf, type ListedTool } from './toolset-tools.ts';
import {
  changeToolset,
  deleteToolset,
  findKnownRefs,
  insertToolset,
  type ToolsetStore,
} from './toolset-store.ts';
import {
  agentKeyOf,
  newSettings,
  patchedSettings,
  showToolset,
  toolsetCallerOf,
  type Toolset,
} from './toolset.ts';

type List = Call<unknown, z.output<typeof listToolsets>>;
type Create = Call<CreateToolset>;
type Patch = Call<PatchToolset>;
type ListTools = Call<unknown, z.output<typeof listToolsetTools>>;

const what = 'toolset';
/** Listings of a tenant at the same time. */
const listings = { perKey: 4, maxWaiting: 1_000 };

export interface ToolsetDependencies {
  toolsets: ToolsetStore;
  agents: AgentStore;
  sources: ServerSources;
  changes: Changes;
}

/** `/v1/toolsets*`; `{toolset}` is an id or a name. */
export function toolsetHandlers(dependencies: ToolsetDependencies): Record<string, Handler> {
  const { toolsets, changes } = dependencies;
  const turns = new FairQueue(listings);
  return {
    'toolsets.list': async (call: List) => {
      const principal = tenantOf(call);
      const { limit, cursor } = call.query;
      const page = { limit, before: decodeCursor(cursor) };
      const read = await toolsets.list(toolsetCallerOf(principal), page);
      const known = await toolsets.findKnown(viewerOf(principal), read.rows);
      return { body: pageOf(read, limit, (toolset) => showToolset(toolset, known)) };
    },

    'toolsets.create': async (call: Create) => {
      const { tenantId } = tenantOf(call);
      const settings = newSettings(call.body);
      return changes.change(call, async (db) => {
        const made = await insertToolset(db, { id: newId(), tenantId, settings });
        return {
          body: await viewOf(db, call, made),
          headers: { location: `/v1/toolsets/${made.id}` },
          changes: [{ action: 'toolset.created', id: made.id, before: null, after: entryOf(made) }],
        };
      });
    },

    'toolsets.get': async (call: Call) => {
      const toolset = await find(toolsets, call);
      const known = await toolsets.findKnown(viewerOf(tenantOf(call)), [toolset]);
      return { body: showToolset(toolset, known) };
    },

    'toolsets.patch': async (call: Patch) => {
      const { tenantId } = tenantOf(call);
      const change = (current: Toolset) => patchedSettings(current, call.body);
      return changes.change(call, async (db) => {
        const changed = await changeToolset(db, tenantId, { ref: refOf(call), change });
        const { before, after } = orNotFound(changed, what);
        return {
          body: await viewOf(db, call, after),
          changes: [
            { action: 'toolset.updated', id: after.id, before: entryOf(before), after: entryOf(after) },
          ],
        };
      });
    },

    'toolsets.delete': async (call: Call) => {
      const { tenantId } = tenantOf(call);
      return changes.change(call, async (db) => {
        const toolset = orNotFound(await deleteToolset(db, tenantId, refOf(call)), what);
        return {
          changes: [{ action: 'toolset.deleted', id: toolset.id, before: entryOf(toolset), after: null }],
        };
      });
    },

    'toolsets.tools': (call: ListTools) =>
      turns.run(tenantOf(call).tenantId, () => listTools(dependencies, call)),
  };
}

async function listTools({ toolsets, agents, sources }: ToolsetDependencies, call: ListTools) {
  const principal = tenantOf(call);
  const { tenantId, userId: user } = principal;
  const { q, limit, cursor } = call.query;
  const after = afterName(cursor);
  const toolset = await find(toolsets, call);
  const keys = [...new Set(toolset.agents.map(agentKeyOf))];
  const active = keys.length === 0 ? [] : await agents.findActive(viewerOf(principal), keys);
  const all = await toolsOf(sources, { toolset, agents: active, tenantId, user });
  if (q !== undefined) {
    const best = await bestTools(tenantId, all, { q, limit: Math.min(limit, maxToolsFound) });
    return { body: { data: best.map(showTool), has_more: false, next_cursor: null } };
  }
  const rest = all.filter(({ name }) => after === null || name > after);
  const page = firstOf(rest, limit);
  const last = page.at(-1);
  const hasMore = page.length < rest.length;
  return {
    body: {
      data: page.map(showTool),
      has_more: hasMore,
      next_cursor: hasMore && last !== undefined ? encodeCursor(last.name) : null,
    },
  };
}

/** The first tools, as far as their definitions have room in a page: one at least. */
function firstOf(tools: readonly ListedTool[], limit: number): ListedTool[] {
  let bytes = 0;
  const first = tools.slice(0, limit);
  const end = first.findIndex(({ schemaJson, description }, index) => {
    bytes += Buffer.byteLength(schemaJson) + Buffer.byteLength(description);
    return index > 0 && bytes > maxToolPageBytes;
  });
  return end < 0 ? first : first.slice(0, end);
}

/** The name in a cursor; null without one. Throws `invalid_cursor`. */
function afterName(cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  try {
    const { before } = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as { before?: unknown };
    if (typeof before === 'string') return before;
  } catch (error) {
    throw invalidCursor(error);
  }
  throw invalidCursor();
}

async function find(toolsets: ToolsetStore, call: Pick<Call, 'params' | 'principal'>): Promise<Toolset> {
  return orNotFound(await toolsets.find(toolsetCallerOf(tenantOf(call)), refOf(call)), what);
}

async function viewOf(db: Queryable, call: Pick<Call, 'principal'>, toolset: Toolset) {
  return showToolset(toolset, await findKnownRefs(db, viewerOf(tenantOf(call)), [toolset]));
}

/** The toolset in the audit log, without what depends on other resources. */
function entryOf(toolset: Toolset) {
  const { missing: _, ...entry } = showToolset(toolset, { servers: [], agents: [] });
  return entry;
}

function refOf(call: Pick<Call, 'params'>): string {
  return call.params['toolset'] ?? '';
}
