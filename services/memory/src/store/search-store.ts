import { withTenant, withTenantSnapshot, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { Analyser, MemoryKey } from '../documents/memory-key.ts';
import type { Fused } from '../search/fusion.ts';
import { entryBytes, type Posting } from '../search/postings.ts';
import { planQuery, rank, type QueryTerm, type Scored } from '../search/ranking.ts';
import type { FoundPassage, PassageIndex, Search } from '../search/search.ts';
import { isPart, simpleTerms } from '../search/simple-words.ts';
import { noModel } from './embedding-store.ts';
import { readClosest, readVectorScopes, type RequestCopy } from './vector-statements.ts';
import { liveDocument, visibleScope } from './scope-statements.ts';

/** Entries of the index that a search reads at most, but for a query of one term: 4 bytes each. */
const entryBudget = 250_000;
const partWeight = 0.25;

/** The visible scopes: `$1` tenant, `$2` agent, `$3` users. */
const scopes = `select s.id from memory.scopes as s join memory.agents as a using (tenant_id, agent_id)
  where s.tenant_id = $1 and s.agent_id = $2 and s.user_id = any ($3::text[]) and ${visibleScope}`;

/** The index of passages in PostgreSQL. Compares vectors by pgvector if the database has it, else by their sketches. */
export class SearchStore implements PassageIndex {
  readonly #pool: Pool;
  readonly #requestCopy: RequestCopy;

  /** `pool` acts as `memory_app`. */
  constructor(pool: Pool, requestCopy: RequestCopy) {
    this.#pool = pool;
    this.#requestCopy = requestCopy;
  }

  async lexical(key: MemoryKey, users: readonly string[], query: string): Promise<Scored[]> {
    return withTenantSnapshot(this.#pool, key.tenantId, async (db) => {
      const statistics = await readStatistics(db, key, users);
      if (statistics === null || statistics.passages === 0) return [];
      const { analyser, passages, tokens } = statistics;
      const plan = planQuery(await readTerms(db, key, { users, query, analyser }), passages, entryBudget);
      if (plan.weights.size === 0) return [];
      const postings = await readPostings(db, key, users, [...plan.weights.keys()]);
      return rank(postings, plan, tokens / passages);
    });
  }

  async published({ tenantId, agentId }: MemoryKey): Promise<string> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<{ published: string }>(
        `select concat(last_generation, hidden, replacing) as published from memory.agents where tenant_id = $1 and agent_id = $2`,
        [tenantId, agentId],
      );
      return rows[0]?.published ?? '';
    });
  }

  async embeddingModel({ tenantId, agentId }: MemoryKey): Promise<string | null> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<{ model: string | null }>(
        'select embedding_model as model from memory.agents where tenant_id = $1 and agent_id = $2',
        [tenantId, agentId],
      );
      const model = rows[0]?.model ?? noModel;
      return model === noModel ? null : model;
    });
  }

  async semantic(
    key: MemoryKey,
    users: readonly string[],
    near: { model: string; vector: Float32Array },
  ): Promise<Scored[]> {
    return withTenant(this.#pool, key.tenantId, async (db) => {
      const { scopeIds, ...vectors } = await readVectorScopes(db, key, users);
      if (vectors.schema !== null && vectors.complete === false) await this.#requestCopy(db, key);
      return readClosest(db, { tenantId: key.tenantId, scopeIds }, near, vectors);
    });
  }

  async select(
    { tenantId }: MemoryKey,
    candidates: readonly Fused[],
    which: Pick<Search, 'filter' | 'limit'>,
  ): Promise<FoundPassage[]> {
    return withTenant(this.#pool, tenantId, (db) => selectPassages(db, tenantId, candidates, which));
  }
}

interface Statistics {
  analyser: Analyser;
  passages: number;
  tokens: number;
}

async function readStatistics(
  db: Queryable,
  { tenantId, agentId }: MemoryKey,
  users: readonly string[],
): Promise<Statistics | null> {
  const { rows } = await db.query<{ analyser: Analyser; passages: string; tokens: string }>(
    `select a.analyser, sum(s.chunks) as passages, sum(s.tokens) as tokens
     from memory.agents as a join memory.scopes as s using (tenant_id, agent_id)
     where a.tenant_id = $1 and a.agent_id = $2 and s.user_id = any ($3::text[]) and ${visibleScope}
     group by a.analyser`,
    [tenantId, agentId, users],
  );
  const [row] = rows;
  return row === undefined
    ? null
    : { analyser: row.analyser, passages: Number(row.passages), tokens: Number(row.tokens) };
}

/** The terms of a query, with the number of passages that have each: counted from the index, so never out of date. */
async function readTerms(
  db: Queryable,
  { tenantId, agentId }: MemoryKey,
  { users, query, analyser }: { users: readonly string[]; query: string; analyser: Analyser },
): Promise<QueryTerm[]> {
  const given = analyser === 'simple' ? simpleTerms(query).terms : null;
  const words = given === null ? `unnest(to_tsvector('english', $4::text))` : 'unnest($4::text[])';
  const { rows } = await db.query<{ word: string; term: string; passages: string }>(
    `select word, hashtextextended(word, 0) as term,
            (select coalesce(sum(octet_length(p.entries)), 0) / ${entryBytes} from memory.postings as p
             where p.tenant_id = $1 and p.scope_id = any (array(${scopes})) and p.term = hashtextextended(word, 0)
            ) as passages
     from ${words} as words (word)`,
    [tenantId, agentId, users, given ?? query],
  );
  return rows.map(({ word, term, passages }) => ({
    term,
    passages: Number(passages),
    weight: isPart(word) ? partWeight : 1,
  }));
}

async function readPostings(
  db: Queryable,
  { tenantId, agentId }: MemoryKey,
  users: readonly string[],
  terms: readonly string[],
): Promise<Posting[]> {
  const { rows } = await db.query<Posting>(
    `select p.scope_id as "scopeId", p.term, p.block, p.entries from memory.postings as p
     where p.tenant_id = $1 and p.scope_id = any (array(${scopes})) and p.term = any ($4::bigint[])`,
    [tenantId, agentId, users, terms],
  );
  return rows;
}

async function selectPassages(
  db: Queryable,
  tenantId: string,
  candidates: readonly Fused[],
  { limit, filter }: Pick<Search, 'filter' | 'limit'>,
): Promise<FoundPassage[]> {
  const { pathPrefix, metadata, since, until } = filter;
  const { rows } = await db.query<Omit<FoundPassage, keyof Fused> & { place: string }>(
    `select d.id as "documentId", d.path, d.title, s.user_id as "userId", d.metadata, d.updated_at as "updatedAt",
            c.start_line as "startLine", c.end_line as "endLine", c.text, candidate.place
     from unnest($2::bigint[], $3::integer[]) with ordinality as candidate (scope_id, number, place)
     join memory.chunks as c
       on c.tenant_id = $1 and c.scope_id = candidate.scope_id and c.number = candidate.number
     join memory.documents as d on d.tenant_id = $1 and d.id = c.document_id
     join memory.scopes as s on s.tenant_id = $1 and s.id = c.scope_id
     join memory.agents as a on a.tenant_id = $1 and a.agent_id = s.agent_id
     where ${liveDocument} and ($4::text is null or starts_with(d.path, $4)) and ($5::jsonb is null or d.metadata @> $5)
       and ($6::timestamptz is null or d.updated_at >= $6) and ($7::timestamptz is null or d.updated_at < $7)
     order by candidate.place limit $8`,
    [
      tenantId,
      candidates.map(({ scopeId }) => scopeId),
      candidates.map(({ number }) => number),
      ...[pathPrefix, metadata && JSON.stringify(metadata), since, until, limit],
    ],
  );
  return rows.flatMap(({ place, ...passage }) => {
    const candidate = candidates[Number(place) - 1];
    return candidate === undefined ? [] : [{ ...candidate, ...passage }];
  });
}
