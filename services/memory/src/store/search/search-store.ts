import { withTenantSnapshot, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { Fused } from '../../search/fusion.ts';
import { entryBytes, type Posting } from '../../search/postings.ts';
import {
  emptyRanking,
  planQuery,
  rank,
  type PassageId,
  type QueryTerm,
  type Ranking,
  type Scored,
} from '../../search/ranking.ts';
import type {
  Extent,
  ScoredPassage,
  IndexState,
  IndexView,
  Near,
  PassageIndex,
  Search,
} from '../../search/search.ts';
import { kinds, wordsOf } from '../../search/words.ts';
import type { Analyser, MemoryKey } from '../../shared/memory-key.ts';
import { liveDocument, visibleScope } from '../scopes/scope-store.ts';
import { filterValues, matching } from './document-filter.ts';
import { noModel } from './embedding-store.ts';
import { formerTermsOf, partKind, termsOf, tokeniser } from './term-store.ts';
import { readClosest, readCosines, readVectorScopes, waitsForCopy } from './vector-store.ts';

/** Entries of the index read by a search at most, but for a query of one term: 4 bytes each. */
const entryBudget = 250_000;
const partWeight = 0.25;

/** The visible scopes: `$1` tenant, `$2` agent, `$3` users. */
const scopes = `select s.id from memory.scopes as s join memory.agents as a using (tenant_id, agent_id)
  where s.tenant_id = $1 and s.agent_id = $2 and s.user_id = any ($3::text[]) and ${visibleScope}`;

/**
 * The index of passages in PostgreSQL. Compares vectors by pgvector if the database has it, else by their sketches.
 * `pool` acts as `memory_app`.
 */
export class SearchStore extends Store implements PassageIndex {
  state({ tenantId, agentId }: MemoryKey): Promise<IndexState | null> {
    return this.tenant(tenantId).first<IndexState>(
      `select analyser, nullif(embedding_model, '${noModel}') as "embeddingModel",
                tokeniser < ${tokeniser} and not mixed as "hasFormerWords", ${waitsForCopy} as "hasVectorsToCopy"
         from memory.agents as a where tenant_id = $1 and agent_id = $2`,
      [tenantId, agentId],
    );
  }

  async read<Result>(key: MemoryKey, inside: (view: IndexView) => Promise<Result>): Promise<Result> {
    return withTenantSnapshot(this.pool, key.tenantId, (db) =>
      inside({
        lexical: (users, query) => lexical(db, key, users, query),
        matching: (users, filter, limit) => readMatching(db, key, { users, filter, limit }),
        semantic: (users, near, extent) => semantic(db, key, users, { near, extent }),
        compare: (near, passages) => readCosines(db, key.tenantId, near, passages),
        select: (candidates, which) => selectPassages(db, key.tenantId, candidates, which),
      }),
    );
  }
}

async function lexical(
  db: Queryable,
  key: MemoryKey,
  users: readonly string[],
  query: string,
): Promise<Ranking> {
  const statistics = await readStatistics(db, key, users);
  if (statistics === null || statistics.passages === 0) return emptyRanking;
  const { passages, tokens } = statistics;
  const terms = await readTerms(db, key, { users, query }, statistics);
  const plan = planQuery(terms, passages, entryBudget);
  if (plan.weights.size === 0) return emptyRanking;
  const postings = await readPostings(db, key, users, [...plan.weights.keys()]);
  return rank(postings, plan, tokens / passages);
}

async function semantic(
  db: Queryable,
  key: MemoryKey,
  users: readonly string[],
  which: { near: Near; extent: Extent },
): Promise<Scored[]> {
  const { scopeIds, ...vectors } = await readVectorScopes(db, key, users);
  return readClosest(db, { tenantId: key.tenantId, scopeIds }, which, vectors);
}

interface Statistics {
  /** The analysers of the passages. */
  analysers: Analyser[];
  /** Whether some have the words of an earlier tokeniser. */
  former: boolean;
  passages: number;
  tokens: number;
}

async function readStatistics(
  db: Queryable,
  { tenantId, agentId }: MemoryKey,
  users: readonly string[],
): Promise<Statistics | null> {
  const row = await db.first<Statistics & { passages: string; tokens: string }>(
    `select case when a.mixed then array['english', 'simple'] else array[a.analyser] end as analysers,
            a.tokeniser < ${tokeniser} as former, sum(s.chunks) as passages, sum(s.tokens) as tokens
     from memory.agents as a join memory.scopes as s using (tenant_id, agent_id)
     where a.tenant_id = $1 and a.agent_id = $2 and s.user_id = any ($3::text[]) and ${visibleScope}
     group by 1, 2`,
    [tenantId, agentId, users],
  );
  return row === null ? null : { ...row, passages: Number(row.passages), tokens: Number(row.tokens) };
}

/** The terms of a query, each with its number of passages: counted from the index, so never out of date. */
async function readTerms(
  db: Queryable,
  { tenantId, agentId }: MemoryKey,
  { users, query }: { users: readonly string[]; query: string },
  { analysers, former }: Pick<Statistics, 'analysers' | 'former'>,
): Promise<QueryTerm[]> {
  const words = wordsOf(query)
    .split(' ')
    .filter((word) => !word.startsWith(kinds.single));
  const sources = analysers.map((analyser) => `(${termsOf(analyser, 4)})`);
  if (former) sources.push(`(${formerTermsOf(5)})`);
  const rows = await db.all<{ kind: string; term: string; passages: string }>(
    `select kind, term,
            (select coalesce(sum(octet_length(p.entries)), 0) / ${entryBytes} from memory.postings as p
             where p.tenant_id = $1 and p.scope_id = any (array(${scopes})) and p.term = words.term
            ) as passages
     from (
       select max(kind) as kind, hashtextextended(word, 0) as term
       from (${sources.join(' union all ')}) as words group by 2
     ) as words`,
    [tenantId, agentId, users, [words.join(' ')], ...(former ? [query] : [])],
  );
  return rows.map(({ kind, term, passages }) => ({
    term,
    passages: Number(passages),
    weight: kind === partKind ? partWeight : 1,
    needed: sources.length === 1 && ![partKind, kinds.marked, kinds.name].includes(kind),
  }));
}

async function readPostings(
  db: Queryable,
  { tenantId, agentId }: MemoryKey,
  users: readonly string[],
  terms: readonly string[],
): Promise<Posting[]> {
  return db.all<Posting>(
    `select p.scope_id as "scopeId", p.term, p.block, p.entries from memory.postings as p
     where p.tenant_id = $1 and p.scope_id = any (array(${scopes})) and p.term = any ($4::bigint[])`,
    [tenantId, agentId, users, terms],
  );
}

/** The numbers of a scope come as one value: there may be 50,000. */
async function readMatching(
  db: Queryable,
  { tenantId, agentId }: MemoryKey,
  { users, filter, limit }: Pick<Search, 'users' | 'filter' | 'limit'>,
): Promise<PassageId[]> {
  const rows = await db.all<{ scopeId: string; numbers: Buffer }>(
    `select "scopeId", string_agg(int4send(number), '') as numbers
     from (
       select c.scope_id as "scopeId", c.number
       from memory.scopes as s join memory.agents as a using (tenant_id, agent_id)
       join memory.documents as d on d.tenant_id = $1 and d.scope_id = s.id
       cross join lateral (
         select c.scope_id, c.number from memory.chunks as c
         where c.tenant_id = $1 and c.document_id = d.id offset 0
       ) as c
       where s.tenant_id = $1 and s.agent_id = $2 and s.user_id = any ($3::text[]) and ${visibleScope}
         and ${liveDocument} and ${matching(5)}
       limit $4
     ) as passages group by 1`,
    [tenantId, agentId, users, limit, ...filterValues(filter)],
  );
  return rows.flatMap(({ scopeId, numbers }) =>
    Array.from({ length: numbers.length / 4 }, (_, at) => ({ scopeId, number: numbers.readInt32BE(4 * at) })),
  );
}

async function selectPassages(
  db: Queryable,
  tenantId: string,
  candidates: readonly Fused[],
  { limit, filter }: Pick<Search, 'filter' | 'limit'>,
): Promise<ScoredPassage[]> {
  const rows = await db.all<Omit<ScoredPassage, keyof Fused> & { place: string }>(
    `select d.id as "documentId", d.path, d.title, s.user_id as "userId", d.metadata, d.updated_at as "updatedAt",
            c.start_line as "startLine", c.end_line as "endLine", c.text, candidate.place
     from unnest($2::bigint[], $3::integer[]) with ordinality as candidate (scope_id, number, place)
     cross join lateral (
       select document_id, scope_id, start_line, end_line, text from memory.chunks
       where tenant_id = $1 and scope_id = candidate.scope_id and number = candidate.number limit 1
     ) as c
     cross join lateral (
       select id, path, title, metadata, updated_at, replaced_by from memory.documents
       where id = c.document_id and tenant_id = $1 limit 1
     ) as d
     join memory.scopes as s on s.tenant_id = $1 and s.id = c.scope_id
     join memory.agents as a on a.tenant_id = $1 and a.agent_id = s.agent_id
     where ${liveDocument} and ${matching(5)}
     order by candidate.place limit $4`,
    [
      tenantId,
      candidates.map(({ scopeId }) => scopeId),
      candidates.map(({ number }) => number),
      limit,
      ...filterValues(filter),
    ],
  );
  return rows.flatMap(({ place, ...passage }) => {
    const candidate = candidates[Number(place) - 1];
    return candidate === undefined ? [] : [{ ...candidate, ...passage }];
  });
}
