import { batchPassages } from '../../bounds.ts';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { Analyser, MemoryKey } from '../../shared/memory-key.ts';
import type { RequestJob } from '../scopes/job-request.ts';
import { closeAgent, growScope, shareAgent, type AgentKey } from '../scopes/scope-store.ts';
import {
  addPostings,
  analysePassages,
  columnsOfTerms,
  removePostings,
  type NumberedTerms,
} from './index-store.ts';
import { firstPlace, type PassagePosition } from './place.ts';
import { indexedBy, indexedBySql, tokeniser } from './term-store.ts';

/**
 * Rebuilds the index of an agent after a change of its analyser, or with passages of an earlier tokeniser. Meanwhile
 * searches use all terms its passages may have. `pool` acts as `memory_app`.
 */
export class ReindexStore extends Store {
  /** Notes the analyser of an agent. Requests a rebuild of the index if it was built otherwise. */
  async noteAnalyser(key: MemoryKey, request: RequestJob): Promise<void> {
    await withTenant(this.pool, key.tenantId, async (db) => {
      if (
        await db.exists(
          `update memory.agents set analyser = $3, mixed = true
         where tenant_id = $1 and agent_id = $2 and (analyser <> $3 or (tokeniser < ${tokeniser} and not mixed))`,
          [key.tenantId, key.agentId, key.analyser],
        )
      )
        await request(db, key);
    });
  }

  /** Analyses the next passages after a place. Returns the place of the last one, or null if there are no more. */
  async analyseNext(key: AgentKey, after: PassagePosition): Promise<PassagePosition | null> {
    return withTenant(this.pool, key.tenantId, async (db) => {
      await shareAgent(db, key);
      const analyser = await currentAnalyser(db, key);
      const scopeId = await lockNextScope(db, key, { after, analyser });
      if (scopeId === null) return null;
      const from = scopeId === after.scopeId ? after.number : firstPlace.number;
      const scope = { tenantId: key.tenantId, scopeId };
      const passages = await selectStale(db, scope, { from, analyser });
      await removePostings(db, scope, passages);
      const analysed = await analysePassages(db, passages, analyser);
      await updateTerms(db, scope, analysed);
      await addPostings(db, scope, analysed);
      const tokens = lengthOf(analysed) - lengthOf(passages);
      await growScope(db, key.tenantId, scopeId, { documents: 0, chunks: 0, bytes: 0, tokens });
      const last = passages.at(-1);
      // The scope has no more if it was emptied meanwhile: go on with the next one.
      return last === undefined ? { scopeId, number: 2 ** 31 - 1 } : { scopeId, number: last.number };
    });
  }

  /** Ends a rebuild. Returns false if passages are left, because others wrote or the analyser was changed again. */
  async finish(key: AgentKey): Promise<boolean> {
    return withTenant(this.pool, key.tenantId, async (db) => {
      await closeAgent(db, key);
      return db.exists(
        `update memory.agents as a set mixed = false, tokeniser = ${tokeniser}
         where a.tenant_id = $1 and a.agent_id = $2 and not exists (
           select from memory.scopes as s
           join memory.chunks as c on c.tenant_id = s.tenant_id and c.scope_id = s.id and c.analyser <> ${indexedBySql('a.analyser')}
           where s.tenant_id = $1 and s.agent_id = $2
         )`,
        [key.tenantId, key.agentId],
      );
    });
  }
}

/** The analyser of an agent. It may change at any time: `finish` finds what another one has analysed meanwhile. */
async function currentAnalyser(db: Queryable, { tenantId, agentId }: AgentKey): Promise<Analyser> {
  const { analyser } = await db.one<{ analyser: Analyser }>(
    'select analyser from memory.agents where tenant_id = $1 and agent_id = $2',
    [tenantId, agentId],
  );
  return analyser;
}

/** Locks the first scope with a passage of another analyser after a place. */
async function lockNextScope(
  db: Queryable,
  { tenantId, agentId }: AgentKey,
  { after, analyser }: { after: PassagePosition; analyser: Analyser },
): Promise<string | null> {
  const row = await db.first<{ id: string }>(
    `select s.id from memory.scopes as s
     where s.tenant_id = $1 and s.agent_id = $2 and s.id >= $3 and exists (
       select from memory.chunks as c
       where c.tenant_id = $1 and c.scope_id = s.id and c.analyser <> $5 and (s.id > $3 or c.number > $4)
     )
     order by s.id limit 1 for update`,
    [tenantId, agentId, after.scopeId, after.number, indexedBy(analyser)],
  );
  return row?.id ?? null;
}

type StalePassage = Pick<NumberedTerms, 'number' | 'terms' | 'length'> & { context: string; text: string };

async function selectStale(
  db: Queryable,
  { tenantId, scopeId }: { tenantId: string; scopeId: string },
  { from, analyser }: { from: number; analyser: Analyser },
): Promise<StalePassage[]> {
  return db.all<StalePassage>(
    `select number, terms, length, context, text from memory.chunks
     where tenant_id = $1 and scope_id = $2 and number > $3 and analyser <> $4
     order by number limit ${batchPassages}`,
    [tenantId, scopeId, from, indexedBy(analyser)],
  );
}

/** Finds each row by its key, as `mergePostings` does; the other columns of a passage stay as they are. */
async function updateTerms(
  db: Queryable,
  { tenantId, scopeId }: { tenantId: string; scopeId: string },
  passages: readonly NumberedTerms[],
): Promise<void> {
  await db.query(
    `insert into memory.chunks
       (tenant_id, scope_id, number, document_id, start_line, end_line, context, text, analyser, length, terms, counts)
     select $1, $2, new.number, c.document_id, c.start_line, c.end_line, c.context, c.text, new.analyser, new.length,
            new.terms::bigint[], new.counts::smallint[]
     from unnest($3::integer[], $4::text[], $5::integer[], $6::text[], $7::text[])
       as new (number, analyser, length, terms, counts)
     cross join lateral (
       select document_id, start_line, end_line, context, text from memory.chunks
       where tenant_id = $1 and scope_id = $2 and number = new.number limit 1
     ) as c
     on conflict (tenant_id, scope_id, number) do update
       set analyser = excluded.analyser, length = excluded.length, terms = excluded.terms, counts = excluded.counts`,
    [tenantId, scopeId, passages.map(({ number }) => number), ...columnsOfTerms(passages)],
  );
}

function lengthOf(passages: readonly { length: number }[]): number {
  return passages.reduce((sum, { length }) => sum + length, 0);
}
