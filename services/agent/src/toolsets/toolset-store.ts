import { maxToolsets } from '@gatehouse/contract/toolsets';
import { AppError } from '@gatehouse/kit/errors';
import type { PageRequest, PageRows } from '@gatehouse/kit/page';
import { isUniqueViolation } from '@gatehouse/pg/errors';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import type { Changed, Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { findKeyedAgents } from '../agents/agent-store.ts';
import { findRefServers } from '../agents/mcp-ref-store.ts';
import { partsOf } from '../agents/mcp-refs.ts';
import type { Viewer } from '../agents/viewer.ts';
import { maxServersChecked } from '../bounds.ts';
import {
  agentKeyOf,
  settingNames,
  type KnownRefs,
  type Toolset,
  type ToolsetCaller,
  type ToolsetSettings,
} from './toolset.ts';

const columns = `id, ${settingNames.join(', ')}, created_at as "createdAt", updated_at as "updatedAt"`;

/** Rows open to a caller, with the parameters from `sight`. */
const usable = `tenant_id = $1
  and ($2::boolean or enabled and case when $3::text[] is null then visibility = 'tenant' else name = any ($3) end)`;

function sight({ tenantId, seesAll, names }: ToolsetCaller): unknown[] {
  return [tenantId, seesAll, names];
}

/** The toolsets of one tenant at a time. One closed to the caller is treated as missing. */
export class ToolsetStore extends Store {
  /** Newest first. */
  list(caller: ToolsetCaller, { limit, before }: PageRequest): Promise<PageRows<Toolset>> {
    return readPage<Toolset>(this.tenant(caller.tenantId), {
      columns,
      from: `agent.toolsets where ${usable} and ($4::uuid is null or id < $4)`,
      order: 'id desc',
      size: sizeOf('description', 'mcp_servers::text', 'deny::text', 'agents::text'),
      limit,
      values: [...sight(caller), before],
    });
  }

  /** By id or name. */
  find(caller: ToolsetCaller, ref: string): Promise<Toolset | null> {
    return this.tenant(caller.tenantId).first(
      `select ${columns} from agent.toolsets where ${usable} and (id::text = $4 or name = $4)
       order by (id::text = $4) desc limit 1`,
      [...sight(caller), ref],
    );
  }

  /** The servers and agents in some toolsets. */
  findKnown(viewer: Viewer, toolsets: readonly ToolsetSettings[]): Promise<KnownRefs> {
    return findKnownRefs(this.tenant(viewer.tenantId), viewer, toolsets);
  }
}

/** Likewise, on a connection of the tenant. Single tools of further servers count as known. */
export async function findKnownRefs(
  db: Queryable,
  viewer: Viewer,
  toolsets: readonly ToolsetSettings[],
): Promise<KnownRefs> {
  const refs = toolsets.flatMap(({ mcp_servers: servers, deny }) => [...servers, ...deny]).map(partsOf);
  const withTools = new Set(refs.flatMap(({ server, tool }) => (tool === null ? [] : [server])));
  const keys = new Set(toolsets.flatMap(({ agents }) => agents.map(agentKeyOf)));
  const agents = keys.size === 0 ? [] : await findKeyedAgents(db, viewer, [...keys]);
  return {
    servers:
      refs.length === 0
        ? []
        : await findRefServers(db, viewer.tenantId, [...withTools].slice(0, maxServersChecked)),
    agents: agents.map(({ key }) => key),
  };
}

/** Throws `limit_reached`, and `toolset_name_taken`. */
export async function insertToolset(
  db: Queryable,
  { id, tenantId, settings }: { id: string; tenantId: string; settings: ToolsetSettings },
): Promise<Toolset> {
  // Other additions wait until the transaction ends.
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`toolsets of ${tenantId}`]);
  const { count } = await db.one<{ count: number }>(
    'select count(*)::integer as count from agent.toolsets where tenant_id = $1',
    [tenantId],
  );
  if (count >= maxToolsets) throw new AppError('limit_reached', `There may be ${maxToolsets} toolsets.`);
  return db
    .one<Toolset>(
      `insert into agent.toolsets (id, tenant_id, ${settingNames.join(', ')})
       values ($1, $2, ${settingNames.map((_, index) => `$${index + 3}`).join(', ')}) returning ${columns}`,
      [id, tenantId, ...valuesOf(settings)],
    )
    .catch(nameTaken);
}

/** Locks a toolset, by id or name, and changes it as `change` says. Null without one. Throws `toolset_name_taken`. */
export async function changeToolset(
  db: Queryable,
  tenantId: string,
  { ref, change }: { ref: string; change: (toolset: Toolset) => ToolsetSettings },
): Promise<Changed<Toolset> | null> {
  const before = await lockToolset(db, tenantId, ref);
  if (before === null) return null;
  const after = await db
    .one<Toolset>(
      `update agent.toolsets set ${settingNames.map((name, index) => `${name} = $${index + 2}`).join(', ')},
         updated_at = clock_timestamp()
       where id = $1 returning ${columns}`,
      [before.id, ...valuesOf(change(before))],
    )
    .catch(nameTaken);
  return { before, after };
}

/** Deletes a toolset, by id or name. Null without one. */
export async function deleteToolset(db: Queryable, tenantId: string, ref: string): Promise<Toolset | null> {
  const toolset = await lockToolset(db, tenantId, ref);
  if (toolset !== null) await db.query('delete from agent.toolsets where id = $1', [toolset.id]);
  return toolset;
}

async function lockToolset(db: Queryable, tenantId: string, ref: string): Promise<Toolset | null> {
  return db.first(
    `select ${columns} from agent.toolsets where tenant_id = $1 and (id::text = $2 or name = $2)
     order by (id::text = $2) desc limit 1 for update`,
    [tenantId, ref],
  );
}

function valuesOf(settings: ToolsetSettings): unknown[] {
  return settingNames.map((name) => settings[name]);
}

function nameTaken(error: unknown): never {
  if (!isUniqueViolation(error, 'toolsets_tenant_id_name_key')) throw error;
  throw new AppError('toolset_name_taken', 'Another toolset of the tenant has this name.', {
    param: 'name',
    cause: error,
  });
}
