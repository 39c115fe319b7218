import type { Changes } from '@gatehouse/audited-changes/changes';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { putLogin } from '../logins/login-store.ts';
import { lockMcpServer } from '../servers/server-store.ts';
import type { McpConsentsOptions } from './mcp-consents.ts';

/** Stores the login of a consent with its audit entry. `app` acts as `agent_app`. */
export function storeLogin(app: Pool, changes: Pick<Changes, 'record'>): McpConsentsOptions['store'] {
  return ({ tenantId, id: ticketId, subjectId: serverId, askedBy }, login, circumstances) =>
    withTenant(app, tenantId, async (db) => {
      const { connectionId, userId } = login;
      const server = await lockMcpServer(db, serverId);
      if (server?.connectionId !== connectionId || !(await holdTicket(db, ticketId))) return false;
      await putLogin(db, login);
      const { key_id, user_id, role } = askedBy;
      const after = { name: server.name, user_id: userId === '' ? null : userId };
      const change = { action: 'mcp_server.connected', id: serverId, before: null, after } as const;
      await changes.record(db, change, { actor: { key_id, role, user_id }, tenantId, ...circumstances });
      return true;
    });
}

/** Whether a ticket is still there; it stays until the transaction ends. */
async function holdTicket(db: Queryable, ticketId: string): Promise<boolean> {
  return db.exists('select from agent.consent_tickets where id = $1 for key share', [ticketId]);
}
