import type { Queryable } from '@gatehouse/pg/pool';
import { batchRows } from '../bounds.ts';

/** How endpoints and channels of a tenant are in use, and by which agent. The tenant of the transaction decides which rows are seen. */

/** Begins no more work on what a transfer has locked. Returns whether some of it was still open. */
export function closeLocked(
  db: Queryable,
  table: 'webhook.endpoints' | 'webhook.channel_instances',
  transferId: string,
): Promise<boolean> {
  return db.exists(`update ${table} set closed = true where locked_by = $1 and not closed`, [transferId]);
}

export async function openLocked(
  db: Queryable,
  table: 'webhook.endpoints' | 'webhook.channel_instances',
  transferId: string,
): Promise<void> {
  await db.query(`update ${table} set closed = false where locked_by = $1 and closed`, [transferId]);
}

/** Whether a replica answers a sender of one of these endpoints, or sends a result of a call. */
export function endpointsInUse(db: Queryable, ids: readonly string[]): Promise<boolean> {
  return db.exists(
    `select from webhook.calls where endpoint_id = any ($1) and status = 'running' and claimed_until > now()
     union all
     select from webhook.deliveries where endpoint_id = any ($1) and status = 'pending' and claimed_until > now() limit 1`,
    [ids],
  );
}

/** The unfinished `async` calls of endpoints; at most as many as a tenant may have. */
export async function queuedCalls(db: Queryable, ids: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select id from webhook.calls where endpoint_id = any ($1) and status = 'queued' order by id`,
    [ids],
  );
  return rows.map(({ id }) => id);
}

/** Calls of endpoints with answers not yet in their conversation; the upkeep finds further ones. */
export async function pendingAnswers(db: Queryable, ids: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select id from webhook.calls
     where endpoint_id = any ($1) and channel_delivery = 'pending' and status = 'succeeded' limit ${batchRows}`,
    [ids],
  );
  return rows.map(({ id }) => id);
}

/** Conversations of channels in which something waits. */
export async function waitingConversations(db: Queryable, ids: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select distinct conversation_id as id from webhook.channel_messages
     where instance_id = any ($1) and status in ('received', 'queued')`,
    [ids],
  );
  return rows.map(({ id }) => id);
}

/**
 * Gives moving endpoints and channels, with their open calls and turns, an agent of the target in place of one that
 * stays. Earlier calls keep the agent of their answer.
 */
export async function useAgent(
  db: Queryable,
  { endpoints, channels }: { endpoints: readonly string[]; channels: readonly string[] },
  agent: { from: string; to: string },
): Promise<void> {
  const values = [agent.from, agent.to];
  await db.query('update webhook.endpoints set agent_id = $2 where agent_id = $1 and id = any ($3)', [
    ...values,
    endpoints,
  ]);
  await db.query('update webhook.channel_instances set agent_id = $2 where agent_id = $1 and id = any ($3)', [
    ...values,
    channels,
  ]);
  await db.query(
    `update webhook.calls set agent_id = $2 where agent_id = $1 and endpoint_id = any ($3) and finished_at is null`,
    [...values, endpoints],
  );
  await db.query(
    `update webhook.channel_turns as t set agent_id = $2 from webhook.conversations as c
     where c.id = t.conversation_id and t.agent_id = $1 and c.instance_id = any ($3)`,
    [...values, channels],
  );
}
