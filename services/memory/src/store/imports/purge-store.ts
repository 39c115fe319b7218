import { batchChunks, batchDocuments } from '../../bounds.ts';
import type { Queryable } from '@gatehouse/pg/pool';
import { removeDocuments, type Located } from '../documents/removal-store.ts';
import {
  closeAgent,
  countedBytes,
  liveDocument,
  scopeOfDocument,
  shareAgent,
  visibleScope,
} from '../scopes/scope-store.ts';
import { addGeneration, deadAfter, type ImportKey } from './import-row-store.ts';

export type GenerationKey = Omit<ImportKey, 'analyser'>;

/** The work an import has left. */
export type ImportState = 'staging' | 'published' | 'discarded';

/** Discards an unpublished import, or only a dead one. Returns its state; null if nothing is left of it. */
export async function discardImport(
  db: Queryable,
  { tenantId, agentId, generation }: GenerationKey,
  onlyDead: boolean,
): Promise<ImportState | null> {
  const values = [tenantId, agentId, generation];
  await db.query(
    `update memory.imports set state = 'discarded'
     where tenant_id = $1 and agent_id = $2 and generation = $3 and state = 'staging'
       and ($4 or alive_at < clock_timestamp() - ${deadAfter})`,
    [...values, !onlyDead],
  );
  const row = await db.first<{ state: ImportState }>(
    'select state from memory.imports where tenant_id = $1 and agent_id = $2 and generation = $3',
    values,
  );
  return row?.state ?? null;
}

/** Rows removed by one statement at most; a row of the index takes the longest. */
const batchRows = 5_000;

const inGeneration = `in (select id from memory.scopes where tenant_id = $1 and agent_id = $2 and generation = $3)`;

/** Rows of discarded imports, in the order in which they can be removed. */
const stored = [
  `memory.postings where tenant_id = $1 and scope_id ${inGeneration}`,
  `memory.chunks where tenant_id = $1 and scope_id ${inGeneration}`,
  `memory.documents where tenant_id = $1 and scope_id ${inGeneration}`,
  `memory.scopes where tenant_id = $1 and agent_id = $2 and generation = $3`,
];

/** Removes a batch of what a discarded import has stored. Call it again until it returns true. */
export async function removeDiscarded(db: Queryable, key: GenerationKey): Promise<boolean> {
  const values = [key.tenantId, key.agentId, key.generation];
  // Other replicas wait here: each step relies on the one before being complete.
  const isLeft = await db.exists(
    `select from memory.imports
     where tenant_id = $1 and agent_id = $2 and generation = $3 and state = 'discarded' for update`,
    values,
  );
  if (!isLeft) return true;
  // Forgetting removes from these scopes as well.
  await db.query(`select 1 from memory.scopes where id ${inGeneration} order by id for update`, values);
  for (const rows of stored) {
    const [table = ''] = rows.split(' ', 1);
    const isMore = await db.exists(
      `delete from ${table} where ctid = any (array(select ctid from ${rows} limit ${batchRows}))`,
      values,
    );
    if (isMore) return false;
  }
  await closeAgent(db, key);
  await db.query(
    `update memory.agents set hidden = array_remove(hidden, $3) where tenant_id = $1 and agent_id = $2`,
    values,
  );
  await endImport(db, key);
  return true;
}

/** The scopes one transaction removes, in about a third of a second on one core. */
const batchScopes = 20;

/**
 * Moves the scopes in which every document is replaced, one of each user, to a new generation, discarded as a whole.
 * This took 0.4 s for 5,000 passages, and taking them out of the index 50 s. Returns null without one.
 */
export async function discardReplacedScopes(
  db: Queryable,
  { tenantId, agentId, generation }: GenerationKey,
): Promise<GenerationKey | null> {
  await closeAgent(db, { agentId });
  const rows = await db.all<{ id: string }>(
    `select distinct on (s.user_id) s.id
     from memory.scopes as s join memory.agents as a using (tenant_id, agent_id)
     where s.tenant_id = $1 and s.agent_id = $2 and s.documents > 0 and ${visibleScope}
       -- Subqueries, which the planner does not turn into joins with all documents of the tenant.
       and (select true from memory.documents as d
            where d.tenant_id = $1 and d.scope_id = s.id and d.replaced_by = $3 limit 1)
       and (select true from memory.documents as d
            where d.tenant_id = $1 and d.scope_id = s.id and ${liveDocument} limit 1) is null
     order by s.user_id`,
    [tenantId, agentId, generation],
  );
  if (rows.length === 0) return null;
  const discarded = await addGeneration(db, { tenantId, agentId }, 'discarded');
  await db.query(
    'update memory.scopes set generation = $3 where tenant_id = $1 and id = any ($2::bigint[])',
    [tenantId, rows.map(({ id }) => id), discarded],
  );
  return { tenantId, agentId, generation: discarded };
}

/**
 * Removes a batch of the documents replaced by a published import, and ends it when the last one is gone. Call it again
 * until it returns true.
 */
export async function finishPublished(db: Queryable, key: GenerationKey): Promise<boolean> {
  if (await removeReplaced(db, key)) return false;
  return endPublished(db, key);
}

/** Returns whether there was something to remove. */
async function removeReplaced(db: Queryable, key: GenerationKey): Promise<boolean> {
  const { tenantId, agentId, generation } = key;
  await shareAgent(db, key);
  const locked = await db.all<{ id: string }>(
    `select id from memory.scopes where tenant_id = $1 and id in (
       select d.scope_id from memory.documents as d ${scopeOfDocument}
       join memory.agents as a on a.tenant_id = $1 and a.agent_id = $2
       where d.tenant_id = $1 and d.replaced_by = $3 and s.agent_id = $2 and s.generation <> all (a.hidden)
       group by d.scope_id limit ${batchScopes})
     order by id for update`,
    [tenantId, agentId, generation],
  );
  const rows = await db.all<Located>(
    `select id, scope_id as "scopeId", bytes, false as counted from (
       select d.id, d.scope_id, ${countedBytes} as bytes,
              sum(d.chunks) over (order by d.scope_id, d.id rows between unbounded preceding and 1 preceding) as before
       from memory.documents as d
       where d.tenant_id = $1 and d.scope_id = any ($2::bigint[]) and d.replaced_by = $3
       order by d.scope_id, d.id limit ${batchDocuments}
     ) as found
     where coalesce(before, 0) < ${batchChunks}`,
    [tenantId, locked.map(({ id }) => id), generation],
  );
  for (const [scopeId, located] of Map.groupBy(rows, (row) => row.scopeId))
    await removeDocuments(db, tenantId, scopeId, located);
  return rows.length > 0;
}

/** Returns false if there is something left the import has replaced. */
async function endPublished(db: Queryable, key: GenerationKey): Promise<boolean> {
  const values = [key.tenantId, key.agentId, key.generation];
  await closeAgent(db, key);
  const isEnded = await db.exists(
    `update memory.agents as a set replacing = array_remove(replacing, $3)
     where a.tenant_id = $1 and a.agent_id = $2 and not exists (
       select 1 from memory.documents as d ${scopeOfDocument}
       where d.tenant_id = $1 and d.replaced_by = $3 and s.agent_id = $2 and s.generation <> all (a.hidden))`,
    values,
  );
  if (!isEnded) return false;
  await db.query(
    `delete from memory.scopes as s using memory.agents as a
     where a.tenant_id = $1 and a.agent_id = $2 and s.tenant_id = $1 and s.agent_id = $2
       and s.generation > 0 and s.documents = 0 and s.generation <> all (a.hidden)`,
    values.slice(0, 2),
  );
  await endImport(db, key);
  return true;
}

async function endImport(db: Queryable, { tenantId, agentId, generation }: GenerationKey): Promise<void> {
  await db.query('delete from memory.imports where tenant_id = $1 and agent_id = $2 and generation = $3', [
    tenantId,
    agentId,
    generation,
  ]);
}
