import { AppError } from '@gatehouse/kit/errors';
import { isUniqueViolation } from '@gatehouse/pg/errors';
import type { Queryable } from '@gatehouse/pg/pool';
import type { TransferItem } from '@gatehouse/transfers/transfer';
import { revisionOf } from './transfer-store.ts';

/** Statements of the steps of transfers. The tenant of the transaction decides which rows they reach. */

const names = ['agents_tenant_id_key_key', 'mcp_servers_tenant_id_name_key'];

export type TransferTable = 'agents' | 'mcp_servers';

/** A row as JSON text, whose numbers and member order no parser has touched. */
export interface TransferredRow {
  id: string;
  text: string;
}

/** Throws `resource_locked` while a transfer keeps the row as it is. */
export async function assertUnlocked(db: Queryable, table: TransferTable, id: string): Promise<void> {
  const { rows } = await db.query(`select from agent.${table} where id = $1 and locked_by is not null`, [id]);
  if (rows.length > 0) throw locked();
}

/** Keeps rows as they are. Throws `resource_locked` for another transfer, and `preview_stale` for what has changed. */
export async function lockRows(
  db: Queryable,
  table: TransferTable,
  items: readonly TransferItem[],
  transferId: string,
): Promise<void> {
  const { rows } = await db.query<{ id: string; revision: string; lockedBy: string | null }>(
    `select id, ${revisionOf[table]} as revision, locked_by as "lockedBy" from agent.${table} as r
     where id = any ($1) order by id for update`,
    [items.map(({ id }) => id)],
  );
  for (const { id, name, revision } of items) {
    const row = rows.find((each) => each.id === id);
    if (row !== undefined && row.lockedBy !== null && row.lockedBy !== transferId) throw locked();
    if (row?.revision !== revision) throw stale(`${name} has changed since the preview.`);
  }
  await db.query(`update agent.${table} set locked_by = $2 where id = any ($1)`, [
    items.map(({ id }) => id),
    transferId,
  ]);
}

export async function unlockRows(db: Queryable, table: TransferTable, transferId: string): Promise<void> {
  const opened = table === 'agents' ? ', closed = false' : '';
  await db.query(`update agent.${table} set locked_by = null${opened} where locked_by = $1`, [transferId]);
}

export async function readRow(db: Queryable, table: TransferTable, id: string): Promise<string> {
  const { rows } = await db.query<{ text: string }>(
    `select row_to_json(r)::text as text from agent.${table} as r where id = $1`,
    [id],
  );
  const [row] = rows;
  if (row === undefined) throw stale('A resource does not exist any more.');
  return row.text;
}

/** Inserts a row of another tenant, with other members. Throws `preview_stale` if its name is taken. */
export async function insertRow(
  db: Queryable,
  table: TransferTable | 'mcp_logins',
  text: string,
  others: Record<string, unknown>,
): Promise<void> {
  await db
    .query(
      `insert into agent.${table}
       select (json_populate_record(json_populate_record(null::agent.${table}, $1::json), $2::json)).*`,
      [text, JSON.stringify(others)],
    )
    .catch((error: unknown) => {
      if (names.some((name) => isUniqueViolation(error, name)))
        throw stale('A name is taken in the target since the preview.');
      throw error;
    });
}

/** Refuses requests to agents that a transfer has locked. */
export async function closeAgents(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query('update agent.agents set closed = true where id = any ($1)', [ids]);
}

/** Whether a login at one of these servers is being refreshed. */
export async function isRefreshing(db: Queryable, serverIds: readonly string[]): Promise<boolean> {
  const { rows } = await db.query(
    `select from agent.mcp_logins
     where server_id = any ($1) and refresh_claimed_until > clock_timestamp() limit 1`,
    [serverIds],
  );
  return rows.length > 0;
}

/** The login that all users of a server share, if it has one, with its encrypted secrets. */
export async function readSharedLogin(
  db: Queryable,
  serverId: string,
): Promise<(TransferredRow & { secrets: Buffer }) | null> {
  const { rows } = await db.query<TransferredRow & { secrets: Buffer }>(
    `select id, row_to_json(l)::text as text, secrets from agent.mcp_logins as l
     where server_id = $1 and user_id = '' and lost_at is null`,
    [serverId],
  );
  return rows[0] ?? null;
}

export async function deleteRows(db: Queryable, table: TransferTable, ids: readonly string[]): Promise<void> {
  await db.query(`delete from agent.${table} where id = any ($1)`, [ids]);
}

/** Deletes what a transfer has hidden in the target. */
export async function deleteHidden(db: Queryable, table: TransferTable, transferId: string): Promise<void> {
  await db.query(`delete from agent.${table} where arriving_in = $1`, [transferId]);
}

/** Shows what a transfer has hidden in the target. */
export async function showHidden(db: Queryable, table: TransferTable, transferId: string): Promise<void> {
  await db.query(`update agent.${table} set arriving_in = null where arriving_in = $1`, [transferId]);
}

function locked(): AppError {
  return new AppError(
    'resource_locked',
    'A transfer to another tenant uses it. Try again when that has ended.',
    {
      headers: { 'retry-after': '5' },
    },
  );
}

function stale(message: string): AppError {
  return new AppError('preview_stale', message);
}
