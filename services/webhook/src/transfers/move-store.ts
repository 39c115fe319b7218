import type { Queryable } from '@gatehouse/pg/pool';
import type { Transfer } from '@gatehouse/transfers/transfer';

/**
 * Statements that bring rows from one tenant to the other, in place. They are made between `asSystem` and `asApp`, in a
 * transaction of an open transfer: policies let no row change hands without one.
 */

type Sides = Pick<Transfer, 'sourceTenantId' | 'targetTenantId'>;

/** The most of one batch. */
const maxRows = 500;
const maxBytes = 8_000_000;

/** The text for a row, among those for the ids of `$2`. A join might compare all of them with all rows. */
const movedOf = (texts: string): string => `(${texts}::bytea[])[array_position($2::uuid[], id)]`;

/** From now on, the transaction spans the tenants of its transfer. */
export async function asSystem(db: Queryable): Promise<void> {
  await db.query('set local role webhook_system');
}

/** From now on, the transaction acts for one tenant again. */
export async function asApp(db: Queryable): Promise<void> {
  await db.query('set local role webhook_app');
}

/** A message with its encrypted text. */
export interface MovingMessage {
  id: string;
  /** Its place, as PostgreSQL writes it. */
  sequence: string;
  direction: 'in' | 'out';
  text: Buffer | null;
}

/** The next messages of a channel that the source still has. */
export async function readMessages(
  db: Queryable,
  { sourceTenantId }: Sides,
  { channelId, after }: { channelId: string; after: string },
): Promise<MovingMessage[]> {
  const { rows } = await db.query<MovingMessage>(
    `select id, sequence::text, direction, text from (
       select id, sequence, direction, text, sum(octet_length(text)) over (order by sequence) as bytes,
         row_number() over (order by sequence) as place
       from (select id, sequence, direction, text from webhook.channel_messages
             where instance_id = $1 and tenant_id = $2 and sequence > $3 order by sequence limit ${maxRows}) as next) as sized
     where place = 1 or coalesce(bytes, 0) <= ${maxBytes} order by sized.sequence`,
    [channelId, sourceTenantId, after],
  );
  return rows;
}

/** `texts`: encrypted for the target, of the messages in their order. */
export async function moveMessages(
  db: Queryable,
  { targetTenantId }: Sides,
  messages: readonly MovingMessage[],
  texts: readonly (Buffer | null)[],
): Promise<void> {
  await db.query(
    `update webhook.channel_messages set tenant_id = $1, text = ${movedOf('$3')} where id = any ($2::uuid[])`,
    [targetTenantId, messages.map(({ id }) => id), texts],
  );
}

/** Open turns of a channel, one in each conversation at most, with what the agent is asked. */
export async function readTurns(
  db: Queryable,
  { sourceTenantId }: Sides,
  channelId: string,
): Promise<{ id: string; request: Buffer | null }[]> {
  const { rows } = await db.query<{ id: string; request: Buffer | null }>(
    `select t.id, t.request from webhook.channel_turns as t join webhook.conversations as c on c.id = t.conversation_id
     where c.instance_id = $1 and t.tenant_id = $2 order by t.id limit ${maxRows}`,
    [channelId, sourceTenantId],
  );
  return rows;
}

export async function moveTurn(
  db: Queryable,
  { targetTenantId }: Sides,
  { id, request }: { id: string; request: Buffer | null },
): Promise<void> {
  await db.query('update webhook.channel_turns set tenant_id = $2, request = $3 where id = $1', [
    ...[id, targetTenantId, request],
  ]);
}

/** Moves conversations of a channel after an id; returns the last one, null when there are no more. */
export async function moveConversations(
  db: Queryable,
  { sourceTenantId, targetTenantId }: Sides,
  { channelId, after }: { channelId: string; after: string },
): Promise<string | null> {
  const { rows } = await db.query<{ last: string | null }>(
    `with next as (
       select id from webhook.conversations where instance_id = $1 and tenant_id = $2 and id > $4 order by id limit 5000),
     moved as (update webhook.conversations as c set tenant_id = $3 from next where c.id = next.id)
     select max(id::text) as last from next`,
    [channelId, sourceTenantId, targetTenantId, after],
  );
  return rows[0]?.last ?? null;
}

/** A call with what it was asked and answered, encrypted. */
export interface MovingCall {
  id: string;
  request: Buffer | null;
  result: Buffer | null;
}

/** The next calls of an endpoint that the source still has. */
export async function readCalls(
  db: Queryable,
  { sourceTenantId }: Sides,
  { endpointId, after }: { endpointId: string; after: string },
): Promise<MovingCall[]> {
  const size = 'coalesce(octet_length(request), 0) + coalesce(octet_length(result), 0)';
  const { rows } = await db.query<MovingCall>(
    `select id, request, result from (
       select id, request, result, sum(${size}) over (order by id) as bytes, row_number() over (order by id) as place
       from (select id, request, result from webhook.calls
             where endpoint_id = $1 and tenant_id = $2 and id > $3 order by id limit ${maxRows}) as next) as sized
     where place = 1 or bytes <= ${maxBytes} order by id`,
    [endpointId, sourceTenantId, after],
  );
  return rows;
}

/** Moves calls, encrypted for the target, with the deliveries of their results. */
export async function moveCalls(
  db: Queryable,
  { targetTenantId }: Sides,
  calls: readonly MovingCall[],
): Promise<void> {
  const ids = calls.map(({ id }) => id);
  await db.query(
    `update webhook.calls set tenant_id = $1, request = ${movedOf('$3')}, result = ${movedOf('$4')}
     where id = any ($2::uuid[])`,
    [targetTenantId, ids, calls.map(({ request }) => request), calls.map(({ result }) => result)],
  );
  await db.query(
    `with sent as (update webhook.deliveries set tenant_id = $1 where call_id = any ($2) returning id)
     update webhook.delivery_attempts set tenant_id = $1 where delivery_id in (select id from sent)`,
    [targetTenantId, ids],
  );
}

/** Locks an endpoint or channel against what is sent to it, until the transaction ends. */
export async function lockOwner(
  db: Queryable,
  table: 'webhook.endpoints' | 'webhook.channel_instances',
  id: string,
): Promise<void> {
  await db.query(`select from ${table} where id = $1 for update`, [id]);
}

/** Changes the tenant of an endpoint or channel, and opens it. `secrets`: columns, encrypted for the target. */
export async function moveOwner(
  db: Queryable,
  { targetTenantId }: Sides,
  table: 'webhook.endpoints' | 'webhook.channel_instances',
  { id, secrets }: { id: string; secrets: Readonly<Record<string, Buffer | null>> },
): Promise<void> {
  const columns = Object.keys(secrets).map((column, index) => `${column} = $${index + 3}, `);
  await db.query(
    `update ${table} set tenant_id = $2, ${columns.join('')}locked_by = null, closed = false where id = $1`,
    [id, targetTenantId, ...Object.values(secrets)],
  );
}
