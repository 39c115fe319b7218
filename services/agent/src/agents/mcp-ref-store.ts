import type { Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { ListedServer } from './mcp-refs.ts';

/** MCP servers of one tenant at a time, as agents name them. */
export class McpRefStore extends Store {
  /** All servers by their names, with the tools of those named in `withTools`. */
  list(tenantId: string, withTools: readonly string[]): Promise<ListedServer[]> {
    return findRefServers(this.tenant(tenantId), tenantId, withTools);
  }
}

/** Likewise, on a connection of the tenant. */
export async function findRefServers(
  db: Queryable,
  tenantId: string,
  withTools: readonly string[],
): Promise<ListedServer[]> {
  const servers = await db.all<ListedServer>(
    `select name, case when name = any ($2) and tools_updated_at is not null
         and coalesce(auth ->> 'perUser', 'false') = 'false'
       then array(select (tool -> 'name')::text from json_array_elements(tools) as tool) end as tools
     from agent.mcp_servers where tenant_id = $1`,
    [tenantId, withTools],
  );
  // As JSON: a name may have characters PostgreSQL has in no text.
  return servers.map(({ name, tools }) => ({
    name,
    tools: tools?.map((json) => JSON.parse(json) as string) ?? null,
  }));
}
