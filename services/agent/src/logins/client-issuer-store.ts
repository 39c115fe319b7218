import { newId } from '@gatehouse/kit/ids';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import { McpFailure, sentenceOf } from '../mcp/failure.ts';
import type { BindIssuer } from './login.ts';

/** `pool` acts as `agent_app`; `raise` gets servers that need `auth`. */
export function clientIssuers(pool: Pool, raise: RaiseAlert): BindIssuer {
  return async ({ id, tenantId, connectionId }, issuer) => {
    const reason = sentenceOf('other_issuer');
    const kind = await withTenant(pool, tenantId, async (db) => {
      const { rows } = await db.query<{ name: string; known: string; isNoted: boolean }>(
        `with before as (select id, coalesce(client_issuer, $3) as known, other_issuer from agent.mcp_servers
           where id = $1 and connection_id = $2 for update)
         update agent.mcp_servers as s set client_issuer = known,
           other_issuer = case when known = $3 then s.other_issuer else coalesce(s.other_issuer, $3) end,
           status = case when known = $3 or not s.enabled then s.status else 'needs_auth' end,
           status_reason = case when known = $3 or not s.enabled then s.status_reason else $4 end
         from before where s.id = before.id
         returning s.name, known, before.other_issuer is not null as "isNoted"`,
        [id, connectionId, issuer, reason],
      );
      const [row] = rows;
      if (row === undefined) return 'session';
      if (row.known === issuer) return null;
      const data = { mcp_server_id: id, name: row.name, user_id: null, reason };
      if (!row.isNoted) await raise(db, { id: newId(), tenant_id: tenantId, type: 'mcp.needs_auth', data });
      return 'other_issuer';
    });
    if (kind !== null) throw new McpFailure(kind);
  };
}
