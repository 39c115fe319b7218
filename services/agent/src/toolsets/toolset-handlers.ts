import type { Changes } from '@gatehouse/audited-changes/changes';
import type { CreateToolset, listToolsets, PatchToolset } from '@gatehouse/contract/toolsets';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { decodeCursor, pageOf } from '@gatehouse/http/pagination';
import { orNotFound } from '@gatehouse/http/resource';
import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import type { z } from 'zod';
import { viewerOf } from '../agents/viewer.ts';
import {
  changeToolset,
  deleteToolset,
  findKnownRefs,
  insertToolset,
  type ToolsetStore,
} from './toolset-store.ts';
import { newSettings, patchedSettings, showToolset, toolsetCallerOf, type Toolset } from './toolset.ts';

type List = Call<unknown, z.output<typeof listToolsets>>;
type Create = Call<CreateToolset>;
type Patch = Call<PatchToolset>;

const what = 'toolset';

export interface ToolsetDependencies {
  toolsets: ToolsetStore;
  changes: Changes;
}

/** `/v1/toolsets*`; `{toolset}` is an id or a name. */
export function toolsetHandlers(dependencies: ToolsetDependencies): Record<string, Handler> {
  const { toolsets, changes } = dependencies;
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
  };
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
