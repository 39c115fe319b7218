import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import type { Queryable } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { SealedColumn } from '@gatehouse/secrets/store/sealed-value-system-store';
import { decrypted, readRow, unhex } from '@gatehouse/transfers/store/rows';
import { inTarget } from '@gatehouse/transfers/store/transfer-state';
import { itemsOf, skippedOf, type Transfer } from '@gatehouse/transfers/transfer';
import type { ConversationQueue } from '../conversations/conversation-queue-store.ts';
import { deleteOf, usersDeletedSince } from '../forgetting/deleted-user-store.ts';
import { sealedColumns } from '../sealed-columns.ts';
import { forgetExpired } from '../secrets/rotation-store.ts';
import type { WebhookJobs } from '../shared/tasks.ts';
import {
  closeLocked,
  endpointsInUse,
  openLocked,
  pendingAnswers,
  queuedCalls,
  waitingConversations,
  useAgent,
} from './use-store.ts';
import { batchRows, moveBytes, moveMs } from '../bounds.ts';

export interface MovesOptions {
  keyRing: KeyRing;
  jobs: WebhookJobs;
  conversations: ConversationQueue;
  log: Logger;
}

const firstId = '00000000-0000-0000-0000-000000000000';

/** The rows with texts of an endpoint or channel, and the column of their order. */
const parts = {
  calls: { from: 'webhook.calls as t where t.endpoint_id = $1', order: 'id', first: firstId },
  channel_messages: {
    from: 'webhook.channel_messages as t where t.instance_id = $1',
    order: 'sequence',
    first: '-1',
  },
  // One in each conversation at most.
  channel_turns: {
    from: `webhook.channel_turns as t join webhook.conversations as c on c.id = t.conversation_id
      where c.instance_id = $1`,
    order: 'id',
    first: firstId,
  },
} as const;
type Part = keyof typeof parts;
type Owner = 'endpoints' | 'channel_instances';

/** A row with its encrypted texts. */
interface MovingRow {
  id: string;
  /** Its place, as PostgreSQL writes it. */
  at: string;
  also: string | null;
  texts: (Buffer | null)[];
}

const columnsOf = (table: Part | Owner): SealedColumn[] =>
  sealedColumns.filter((column) => column.table === table);

/**
 * Moves endpoints and channels with what belongs to them. While one is closed nothing of it is worked on; what arrives
 * is stored, and worked on in the target. Its calls and messages go first, in batches; then, in one transaction, what
 * has arrived meanwhile, the conversations, and the endpoint or channel itself.
 */
export class Moves {
  readonly #options: MovesOptions;

  constructor(options: MovesOptions) {
    this.#options = options;
  }

  /** Begins no more work. Returns whether all work is over. */
  async close(db: Queryable, transfer: Transfer): Promise<boolean> {
    const isNew = [
      await closeLocked(db, 'webhook.endpoints', transfer.id),
      await closeLocked(db, 'webhook.channel_instances', transfer.id),
    ];
    // Work begun before the closure is seen once this has been committed.
    return !isNew.includes(true) && !(await this.#isInUse(db, transfer));
  }

  /** Goes on with what has waited. */
  async open(db: Queryable, transfer: Transfer): Promise<void> {
    await openLocked(db, 'webhook.endpoints', transfer.id);
    await openLocked(db, 'webhook.channel_instances', transfer.id);
    await this.#resume(db, transfer, transfer.sourceTenantId);
  }

  /** Decrypts the secrets of an endpoint or channel. Throws if one can't be. */
  async assertReadable(db: Queryable, { sourceTenantId }: Transfer, table: Owner, id: string): Promise<void> {
    await forgetExpired(db, table, id);
    await this.#resealed(db, { sourceTenantId, targetTenantId: sourceTenantId }, table, id);
  }

  /**
   * Returns whether everything is moved. Rows change hands as `webhook_system`, which spans both tenants; policies let no
   * row do so without an open transfer.
   */
  async move(db: Queryable, transfer: Transfer): Promise<boolean> {
    const [endpoints, channels] = owners(transfer);
    const until = monotonicMs() + moveMs;
    if (!(await this.#forgetDeleted(db, transfer, until))) return false;
    // Encrypted for the target, they would need their key.
    for (const id of endpoints) await forgetExpired(db, 'endpoints', id);
    for (const id of channels) await forgetExpired(db, 'channel_instances', id);
    await db.query('set local role webhook_system');
    for (const id of endpoints)
      if (!(await this.#moveRows(db, transfer, { table: 'calls', ownerId: id, until }))) return false;
    for (const id of channels)
      if (!(await this.#moveRows(db, transfer, { table: 'channel_messages', ownerId: id, until })))
        return false;
    for (const id of endpoints) await lockOwner(db, 'endpoints', id);
    for (const id of channels) await lockOwner(db, 'channel_instances', id);
    for (const id of endpoints) await this.#moveRows(db, transfer, { table: 'calls', ownerId: id });
    for (const id of channels) {
      await this.#moveRows(db, transfer, { table: 'channel_messages', ownerId: id });
      await this.#moveRows(db, transfer, { table: 'channel_turns', ownerId: id });
      await moveConversations(db, transfer, id);
    }
    for (const id of endpoints) await this.#moveOwner(db, transfer, 'endpoints', id);
    for (const id of channels) await this.#moveOwner(db, transfer, 'channel_instances', id);
    await db.query('set local role webhook_app');
    // Those requested since the call began.
    await this.#forgetDeleted(db, transfer, Infinity);
    await inTarget(db, transfer, async () => {
      for (const { id, targetId } of skippedOf(transfer, 'agent'))
        await useAgent(db, { endpoints, channels }, { from: id, to: targetId });
      await this.#resume(db, transfer, transfer.targetTenantId);
    });
    return true;
  }

  /**
   * Deletes the rows of users with a deletion in the source meanwhile, in either tenant. Returns whether all of them
   * are deleted.
   */
  async #forgetDeleted(db: Queryable, transfer: Transfer, until: number): Promise<boolean> {
    const { sourceTenantId: tenantId } = transfer;
    const deleted = await usersDeletedSince(db, transfer.id);
    if (deleted.length === 0) return true;
    const [endpoints, channels] = owners(transfer);
    const deleteAll = async (): Promise<boolean> => {
      while (await deleteOf(db, deleted, { tenantId, endpoints, channels }))
        if (monotonicMs() > until) return false;
      return true;
    };
    return (await inTarget(db, transfer, deleteAll)) && (await deleteAll());
  }

  async #isInUse(db: Queryable, transfer: Transfer): Promise<boolean> {
    const { jobs } = this.#options;
    const [endpoints, channels] = owners(transfer);
    const tenantId = transfer.sourceTenantId;
    const calls = await queuedCalls(db, endpoints);
    const conversations = await waitingConversations(db, channels);
    const inUse = [
      await endpointsInUse(db, endpoints),
      await jobs.anyRunning(db, { tenantId, tasks: ['run_call'], member: 'callId', ids: calls }),
      await jobs.anyRunning(db, {
        ...{ tenantId, tasks: ['converse', 'send_replies'] },
        ...{ member: 'conversationId', ids: conversations },
      }),
      await jobs.anyRunning(db, {
        ...{ tenantId, tasks: ['check_channel', 'refresh_tokens'] },
        ...{ member: 'channelId', ids: channels },
      }),
    ];
    return inUse.includes(true);
  }

  /** Queues the waiting work for its present tenant. The upkeep queues other overdue work. */
  async #resume(db: Queryable, transfer: Transfer, tenantId: string): Promise<void> {
    const { jobs, conversations } = this.#options;
    const [endpoints, channels] = owners(transfer);
    for (const callId of await queuedCalls(db, endpoints))
      await jobs.add(db, { task: 'run_call', tenantId, ids: { callId }, key: callId });
    for (const callId of await pendingAnswers(db, endpoints))
      await jobs.add(db, { task: 'deliver_answer', tenantId, ids: { callId }, key: callId });
    for (const channelId of channels)
      await jobs.add(db, { task: 'check_channel', tenantId, ids: { channelId }, key: channelId });
    const waiting = await waitingConversations(db, channels);
    await conversations.resume(
      db,
      waiting.slice(0, batchRows).map((id) => ({ tenantId, id })),
    );
  }

  /**
   * Moves rows with their texts, encrypted for the target. Without `until`, to the end. Returns whether the end is
   * reached.
   */
  async #moveRows(
    db: Queryable,
    transfer: Transfer,
    { table, ownerId, until = Infinity }: { table: Part; ownerId: string; until?: number },
  ): Promise<boolean> {
    const columns = columnsOf(table);
    for (let after: string = parts[table].first; ;) {
      const rows = await readRows(db, transfer, { table, ownerId, after });
      const last = rows.at(-1);
      if (last === undefined) return true;
      const ids = rows.map(({ id }) => id);
      const texts = columns.map((column, index) =>
        rows.map((row) => this.#again(row.texts[index] ?? null, row, { column, transfer })),
      );
      const resealed = columns.map(
        // A join might compare all texts with all rows.
        ({ column }, index) => `, ${column} = ($${index + 3}::bytea[])[array_position($2::uuid[], id)]`,
      );
      await db.query(
        `update webhook.${table} set tenant_id = $1${resealed.join('')} where id = any ($2::uuid[])`,
        [transfer.targetTenantId, ids, ...texts],
      );
      if (table === 'calls') await moveDeliveries(db, transfer, ids);
      if (monotonicMs() > until) return false;
      after = last.at;
    }
  }

  /** A text encrypted again. An undecryptable one stays as it is: it would hold up the move for ever. */
  #again(
    sealed: Buffer | null,
    row: Pick<MovingRow, 'id' | 'also'>,
    { column, transfer }: { column: SealedColumn; transfer: Transfer },
  ): Buffer | null {
    try {
      return sealed && this.#reseal(sealed, row, column, transfer);
    } catch (error) {
      this.#options.log.error({ err: error }, 'failed to decrypt a text that moves to another tenant');
      return sealed;
    }
  }

  #reseal(
    sealed: Buffer,
    { id, also }: Pick<MovingRow, 'id' | 'also'>,
    { context }: SealedColumn,
    { sourceTenantId, targetTenantId }: Sides,
  ): Buffer {
    const { keyRing } = this.#options;
    const plain = keyRing.open(sealed, context({ tenantId: sourceTenantId, id, also }));
    return keyRing.seal(plain, context({ tenantId: targetTenantId, id, also }));
  }

  /** Changes the tenant of an endpoint or channel, and opens it. */
  async #moveOwner(db: Queryable, transfer: Transfer, table: Owner, id: string): Promise<void> {
    const secrets = await this.#resealed(db, transfer, table, id);
    const columns = Object.keys(secrets).map((column, index) => `${column} = $${index + 3}, `);
    await db.query(
      `update webhook.${table} set tenant_id = $2, ${columns.join('')}locked_by = null, closed = false where id = $1`,
      [id, transfer.targetTenantId, ...Object.values(secrets)],
    );
  }

  /** The secrets of an endpoint or channel, encrypted for the target. */
  async #resealed(
    db: Queryable,
    sides: Sides,
    table: Owner,
    id: string,
  ): Promise<Record<string, Buffer | null>> {
    const row = await readRow(db, `webhook.${table}`, id);
    const entries = columnsOf(table).map((column) => {
      const sealed = row[column.column] ?? null;
      const again = (text: string): Buffer => this.#reseal(unhex(text), { id, also: null }, column, sides);
      return [column.column, sealed === null ? null : decrypted(() => again(sealed))] as const;
    });
    return Object.fromEntries(entries);
  }
}

type Sides = Pick<Transfer, 'sourceTenantId' | 'targetTenantId'>;

/** The next rows of an endpoint or channel still in the source. */
async function readRows(
  db: Queryable,
  { sourceTenantId }: Sides,
  { table, ownerId, after }: { table: Part; ownerId: string; after: string },
): Promise<MovingRow[]> {
  const { from, order } = parts[table];
  const columns = columnsOf(table);
  const also = columns.find((column) => column.also !== undefined)?.also;
  const size = columns.map(({ column }) => `coalesce(octet_length(t.${column}), 0)`).join(' + ');
  // Column by column: pg parses an array of bytea a character at a time.
  const texts = columns.map((_, index) => `text${index}` as const);
  const named = columns.map(({ column }, index) => `t.${column} as ${texts[index]}`);
  const rows = await db.all<Omit<MovingRow, 'texts'> & Record<`text${number}`, Buffer | null>>(
    `select id, sized.at::text as at, also, ${texts.join(', ')} from (
       select next.*, sum(size) over (order by at) as bytes, row_number() over (order by at) as place from (
         select t.id, t.${order} as at, ${also === undefined ? 'null' : `t.${also}`} as also, ${size} as size,
           ${named.join(', ')}
         from ${from} and t.tenant_id = $2 and t.${order} > $3 order by t.${order} limit ${batchRows}) as next) as sized
     where place = 1 or bytes <= ${moveBytes} order by sized.at`,
    [ownerId, sourceTenantId, after],
  );
  return rows.map((row) => ({ ...row, texts: texts.map((text) => row[text] ?? null) }));
}

/** Moves the deliveries of the results of calls. */
async function moveDeliveries(
  db: Queryable,
  { targetTenantId }: Sides,
  calls: readonly string[],
): Promise<void> {
  await db.query(
    `with sent as (update webhook.deliveries set tenant_id = $1 where call_id = any ($2) returning id)
     update webhook.delivery_attempts set tenant_id = $1 where delivery_id in (select id from sent)`,
    [targetTenantId, calls],
  );
}

async function moveConversations(
  db: Queryable,
  { sourceTenantId, targetTenantId }: Sides,
  channelId: string,
): Promise<void> {
  for (let after: string | null = firstId; after !== null;) {
    const moved: { rows: { last: string | null }[] } = await db.query<{ last: string | null }>(
      `with next as (
         select id from webhook.conversations where instance_id = $1 and tenant_id = $2 and id > $4 order by id limit 5000),
       moved as (update webhook.conversations as c set tenant_id = $3 from next where c.id = next.id)
       select max(id::text) as last from next`,
      [channelId, sourceTenantId, targetTenantId, after],
    );
    after = moved.rows[0]?.last ?? null;
  }
}

/** Locks an endpoint or channel against what is sent to it, until the transaction ends. */
async function lockOwner(db: Queryable, table: Owner, id: string): Promise<void> {
  await db.query(`select from webhook.${table} where id = $1 for update`, [id]);
}

/** The ids of endpoints and channels, in the order in which they are locked. */
function owners(transfer: Transfer): [endpoints: string[], channels: string[]] {
  const idsOf = (type: 'webhook_endpoint' | 'channel_instance'): string[] =>
    itemsOf(transfer, type).map(({ id }) => id);
  return [idsOf('webhook_endpoint'), idsOf('channel_instance')];
}
