import type { Queryable } from '@gatehouse/pg/pool';

/** Statements of the steps of transfers. The tenant of the transaction decides which rows they reach. */

export type TransferTable = 'agent.agents' | 'agent.mcp_servers';

/** Constraints of names, which are reserved in the target. */
export const nameConstraints = ['agents_tenant_id_key_key', 'mcp_servers_tenant_id_name_key'];

/** Refuses requests to agents that a transfer has locked. */
export async function closeAgents(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query('update agent.agents set closed = true where id = any ($1)', [ids]);
}

/** Agents that a transfer has locked take requests again. */
export async function openAgents(db: Queryable, transferId: string): Promise<void> {
  await db.query('update agent.agents set closed = false where locked_by = $1', [transferId]);
}

/** Whether a login at one of these servers is being refreshed. None begins to be until the transaction ends. */
export async function isRefreshing(db: Queryable, serverIds: readonly string[]): Promise<boolean> {
  const { rows } = await db.query<{ claimed: boolean }>(
    `select coalesce(refresh_claimed_until > clock_timestamp(), false) as claimed from agent.mcp_logins
     where server_id = any ($1) order by id for update`,
    [serverIds],
  );
  return rows.some(({ claimed }) => claimed);
}

/** A row as JSON text, with its encrypted secrets. */
export interface TransferredLogin {
  id: string;
  secrets: Buffer;
}

/** The login that all users of a server share, if it has one. */
export async function readSharedLogin(db: Queryable, serverId: string): Promise<TransferredLogin | null> {
  const { rows } = await db.query<TransferredLogin>(
    `select id, secrets from agent.mcp_logins
     where server_id = $1 and user_id = '' and lost_at is null`,
    [serverId],
  );
  return rows[0] ?? null;
}

export async function deleteRow(db: Queryable, table: TransferTable, id: string): Promise<void> {
  await db.query(`delete from ${table} where id = $1`, [id]);
}

/** Deletes what a transfer has hidden in the target. */
export async function deleteHidden(db: Queryable, table: TransferTable, transferId: string): Promise<void> {
  await db.query(`delete from ${table} where arriving_in = $1`, [transferId]);
}

/** Shows what a transfer has hidden in the target. */
export async function showHidden(db: Queryable, table: TransferTable, transferId: string): Promise<void> {
  await db.query(`update ${table} set arriving_in = null where arriving_in = $1`, [transferId]);
}
