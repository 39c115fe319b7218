import { AppError } from '@gatehouse/kit/errors';
import type { Queryable } from '@gatehouse/pg/pool';
import { inTarget } from '@gatehouse/transfers/store/transfer-state';
import type { Transfer, TransferItem } from '@gatehouse/transfers/transfer';
import { growGraphAlone, growTenantGraph } from '../graph/graph-row-store.ts';
import { hashedUser, type UserDeletion } from '../scopes/deleted-user-store.ts';
import {
  closeAgent,
  growScope,
  growTenant,
  scopeOfDocument,
  type AgentKey,
  type MemoryLimits,
} from '../scopes/scope-store.ts';
import { copied, type Copied, type PartTable } from './copied-tables.ts';

/** Statements of the steps of transfers. The tenant of the transaction decides which rows they reach. */

/** A scope or a graph of an agent. */
export interface CopiedPart {
  id: string;
  userId: string;
  generation: string;
  /** The number of the next passage, for a scope. */
  nextNumber: number | null;
  isGraph: boolean;
}

/** How far copying is: so many tables of parts, and the key of the last copied row of the next one. */
export interface Progress {
  done: number;
  after: unknown[] | null;
}

/** A column of type `json`, which is read as a text: a parser would refuse NUL and lone surrogates in it. */
const asText = 'properties';

/** Bytes of the documents of a batch, but for the last one. */
const batchBytes = 4 * 1024 * 1024;

/** The memory of an agent, as far as the target gets it. */
interface LockedMemory {
  analyser: string;
  mixed: boolean;
  embeddingModel: string | null;
  lastGeneration: number;
}

/** Whether documents of an import are being stored, or removed. */
export function isBeingImported(db: Queryable, agentId: string): Promise<boolean> {
  return db.exists('select from memory.imports where agent_id = $1 limit 1', [agentId]);
}

/** Whether nothing of an agent is there, also not what is to be removed. */
export async function isEmpty(db: Queryable, agentId: string): Promise<boolean> {
  const text = `select from memory.scopes where agent_id = $1 union all select from memory.graphs where agent_id = $1 limit 1`;
  return !(await db.exists({ text, values: [agentId] }));
}

/** Keeps the memory of an agent as it is, once its writers have ended. Throws `resource_locked` for another transfer. */
export async function lockMemory(
  db: Queryable,
  { tenantId, agentId }: AgentKey,
  transferId: string,
): Promise<LockedMemory> {
  await closeAgent(db, { agentId });
  const locked = await db.one<LockedMemory & { lockedBy: string }>(
    `insert into memory.agents as a (tenant_id, agent_id, analyser, locked_by) values ($1, $2, 'english', $3)
     on conflict (tenant_id, agent_id) do update set locked_by = coalesce(a.locked_by, excluded.locked_by)
     returning analyser, mixed, embedding_model as "embeddingModel", last_generation as "lastGeneration",
       locked_by as "lockedBy"`,
    [tenantId, agentId, transferId],
  );
  const { lockedBy, ...memory } = locked;
  if (lockedBy !== transferId)
    throw new AppError('resource_locked', 'Another transfer uses the memory of the agent.');
  return memory;
}

/** Returns whether the transfer had locked it. */
export function unlockMemory(db: Queryable, agentId: string, transferId: string): Promise<boolean> {
  return db.exists('update memory.agents set locked_by = null where agent_id = $1 and locked_by = $2', [
    agentId,
    transferId,
  ]);
}

/** Makes the memory of an agent in the target, also where it had one before, and keeps others from writing to it. */
export async function makeMemory(
  db: Queryable,
  { tenantId, agentId }: AgentKey,
  { analyser, mixed, embeddingModel, lastGeneration }: LockedMemory,
  transferId: string,
): Promise<void> {
  await db.query(
    `insert into memory.agents
       (tenant_id, agent_id, analyser, mixed, embedding_model, last_generation, locked_by)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (tenant_id, agent_id) do update set analyser = excluded.analyser, mixed = excluded.mixed,
       embedding_model = excluded.embedding_model, last_generation = excluded.last_generation,
       hidden = '{}', replacing = '{}', deleted_at = null, locked_by = excluded.locked_by`,
    [tenantId, agentId, analyser, mixed, embeddingModel, lastGeneration, transferId],
  );
}

/** The visible scopes of an agent, or its graphs, in a stable order. */
export function findParts(
  db: Queryable,
  { agentId, isGraph }: { agentId: string; isGraph: boolean },
): Promise<CopiedPart[]> {
  return db.all<CopiedPart>(
    isGraph
      ? `select id, user_id as "userId", generation, null as "nextNumber", true as "isGraph" from memory.graphs
         where agent_id = $1 and generation = 0 order by id`
      : `select s.id, s.user_id as "userId", s.generation::bigint as generation,
           s.next_number as "nextNumber", false as "isGraph"
         from memory.scopes as s join memory.agents as a using (tenant_id, agent_id)
         where s.agent_id = $1 and s.generation <> all (a.hidden) order by s.id`,
    [agentId],
  );
}

export async function readProgress(db: Queryable, transferId: string): Promise<Progress> {
  const rows = await db.all<{ progress: Progress | null }>(
    'select progress from memory.transfers where id = $1',
    [transferId],
  );
  return rows[0]?.progress ?? { done: 0, after: null };
}

export async function setProgress(db: Queryable, transferId: string, progress: Progress): Promise<void> {
  await db.query('update memory.transfers set progress = $2 where id = $1', [
    transferId,
    JSON.stringify(progress),
  ]);
}

export interface Batch {
  item: TransferItem;
  part: CopiedPart;
  table: PartTable;
  after: unknown[] | null;
}

/** Growth of the target's usage by a batch. */
export interface Grown {
  documents: number;
  bytes: number;
  entities: number;
  relations: number;
}

/**
 * Copies the rows of a part of an agent following a key. Returns the key of the last one, and the amounts for
 * `growTarget`; null without one.
 */
export async function copyBatch(
  db: Queryable,
  transfer: Transfer,
  { item, part, table, after }: Batch,
): Promise<{ last: unknown[]; grown: Grown } | null> {
  const batch = await readBatch(db, { part, table, after });
  if (batch.last === null) return null;
  const grown = await inTarget(db, transfer, () => writeBatch(db, transfer, { item, part, table }, batch));
  return { last: batch.last, grown };
}

async function writeBatch(
  db: Queryable,
  { id: transferId, mode, targetTenantId: tenantId }: Transfer,
  { item, part, table }: Pick<Batch, 'item' | 'part' | 'table'>,
  { rows, count, amount }: ReadRows,
): Promise<Grown> {
  const partId = await makePart(db, { tenantId, agentId: item.targetId }, part);
  const { part: partColumn, same, ids, hasRuns } = copied[table] as Copied;
  const run = hasRuns ? ['run_id'] : [];
  const id = (column: string): string =>
    `case when $5 then r.${column} else memory.copied_id($4, r.${column}) end`;
  const value = (column: string): string =>
    column === asText ? `(r.${column} #>> '{}')::json` : `r.${column}`;
  await db.query(
    `insert into memory.${table} (tenant_id, ${partColumn}, ${[...ids, ...same, ...run].join(', ')})
     select $1, $2, ${[...ids.map(id), ...same.map(value), ...run.map(() => 'case when $5 then r.run_id end')].join(', ')}
     from json_populate_recordset(null::memory.${table}, $3::json) as r
     where $4::uuid is not null and $5::boolean is not null`,
    [tenantId, partId, rows, transferId, mode === 'move'],
  );
  const chunks = table === 'chunks' ? count : 0;
  const documents = table === 'documents' ? count : 0;
  if (table === 'documents' || table === 'chunks')
    await growScope(db, tenantId, partId, {
      ...{ documents, chunks },
      bytes: documents === 0 ? 0 : amount,
      tokens: chunks === 0 ? 0 : amount,
    });
  const entities = table === 'entities' ? count : 0;
  const relations = table === 'relations' ? count : 0;
  await growGraphAlone(db, { tenantId, graphId: partId }, { entities, relations });
  const bytes = documents + entities + relations === 0 ? 0 : amount;
  return { documents, bytes, entities, relations };
}

/** Counts what was copied. Call it last in a transaction: all writers of the target wait. Throws `limit_reached`. */
export async function growTarget(
  db: Queryable,
  transfer: Transfer,
  { documents, bytes, entities, relations }: Grown,
  limits: MemoryLimits,
): Promise<void> {
  const { targetTenantId: tenantId } = transfer;
  await inTarget(db, transfer, async () => {
    if (documents > 0 || bytes > 0) await growTenant(db, tenantId, { documents, bytes }, limits);
    await growTenantGraph(db, { tenantId, limits }, { entities, relations, bytes: 0 });
  });
}

/** A user with data to delete, as far as they were written until the deletion was requested. */
export type DeletedUser = Omit<UserDeletion, 'tenantId'>;

/** Users with something at an agent in the source, and with a deletion of their data there since the transfer began. */
export function usersDeletedSince(
  db: Queryable,
  { id, sourceTenantId }: Transfer,
  agentId: string,
): Promise<DeletedUser[]> {
  return db.all<DeletedUser>(
    `select distinct p.user_id as "userId", d.requested_at as "requestedAt" from (
       select user_id from memory.scopes where agent_id = $2
       union all select user_id from memory.graphs where agent_id = $2) as p
     cross join lateral (
       select noted_at, requested_at from memory.deleted_users
       where tenant_id = $3 and user_hash = ${hashedUser('$3', 'p.user_id')} limit 1) as d
     join memory.transfers as t on t.id = $1 and d.noted_at >= t.created_at
     where p.user_id <> ''`,
    [id, agentId, sourceTenantId],
  );
}

interface ReadRows {
  /** A JSON array. Not parsed: numbers and texts stay as they are. */
  rows: string;
  count: number;
  amount: number;
  last: unknown[] | null;
}

async function readBatch(
  db: Queryable,
  { part, table, after }: Pick<Batch, 'part' | 'table' | 'after'>,
): Promise<ReadRows> {
  const { part: partColumn, key, limit, amount, ids, same, hasRuns } = copied[table] as Copied;
  const run = hasRuns ? ['run_id'] : [];
  const all = [...new Set([...key.map(([column]) => column), ...ids, ...same, ...run])].join(', ');
  const read = all.replace(asText, `to_json(${asText}::text) as ${asText}`);
  const columns = key.map(([column]) => column).join(', ');
  const following = key.map(([, type], index) => `$${index + 2}::text::${type}`).join(', ');
  const before =
    table === 'documents'
      ? 'coalesce(sum(bytes) over (order by id rows between unbounded preceding and 1 preceding), 0)'
      : '0';
  return db.one<ReadRows>(
    `with page as materialized (
         select ${read} from memory.${table}
         where ${partColumn} = $1 ${after === null ? '' : `and (${columns}) > (${following})`}
         order by ${columns} limit ${limit}
       ), found as materialized (
         select ${all} from (select ${all}, ${before} as before from page) as summed where before < ${batchBytes}
       )
       select coalesce(json_agg(found), '[]')::text as rows, count(*)::integer as count,
         coalesce(sum(${amount}), 0)::float8 as amount,
         (select json_build_array(${key.map(([column]) => `${column}::text`).join(', ')}) from found
          order by ${key.map(([column]) => `${column} desc`).join(', ')} limit 1) as last
       from found`,
    [part.id, ...(after ?? [])],
  );
}

/** The part of the target for a part of the source. */
async function makePart(
  db: Queryable,
  { tenantId, agentId }: AgentKey,
  { userId, generation, nextNumber, isGraph }: CopiedPart,
): Promise<string> {
  const table = isGraph ? 'graphs' : 'scopes';
  const values = [tenantId, agentId, userId, generation];
  const where = 'tenant_id = $1 and agent_id = $2 and user_id = $3 and generation = $4';
  const part = await db.first<{ id: string }>(`select id from memory.${table} where ${where}`, values);
  if (part !== null) return part.id;
  const { id } = await db.one<{ id: string }>(
    `insert into memory.${table} (tenant_id, agent_id, user_id, generation ${isGraph ? '' : ', next_number'})
       values ($1, $2, $3, $4 ${isGraph ? '' : ', $5'}) returning id`,
    isGraph ? values : [...values, nextNumber],
  );
  return id;
}

/** Whether passages of another analyser are in the index of an agent. */
export function isMixed(db: Queryable, { tenantId, agentId }: AgentKey): Promise<boolean> {
  return db.exists('select from memory.agents where tenant_id = $1 and agent_id = $2 and mixed', [
    tenantId,
    agentId,
  ]);
}

/** Whether an agent has passages without an embedding. */
export function waitsForEmbeddings(db: Queryable, { tenantId, agentId }: AgentKey): Promise<boolean> {
  return db.exists(
    `select from memory.documents as d ${scopeOfDocument}
     where d.tenant_id = $1 and s.agent_id = $2 and d.embedded_by is null limit 1`,
    [tenantId, agentId],
  );
}
