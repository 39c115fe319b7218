import { setImmediate } from 'node:timers/promises';
import type { Queryable } from '@gatehouse/pg/pool';
import { searchedText, type Passage } from '../../documents/split-markdown.ts';
import {
  blockOf,
  blockSize,
  entryOf,
  packEntries,
  withoutPassages,
  type Posting,
} from '../../search/postings.ts';
import { wordsOf } from '../../search/words.ts';
import type { Analyser } from '../../shared/memory-key.ts';
import { indexedBy, termsOf } from './term-store.ts';

/** The terms of a passage, as the index stores them. */
export interface PassageTerms {
  /** The analyser with its tokeniser. */
  analyser: string;
  /** Hashes, as PostgreSQL has them. */
  terms: string[];
  counts: number[];
  /** Sum of the counts. */
  length: number;
}

export type AnalysedPassage = Passage & PassageTerms;

/** A passage of the document with this id. */
export type IndexedPassage = AnalysedPassage & { documentId: string };

/** The document and the scope of passages. */
export interface IndexTarget {
  tenantId: string;
  scopeId: string;
  documentId: string;
}

/** How much was added to, or removed from, the index. */
export interface IndexGrowth {
  chunks: number;
  tokens: number;
}

/** Passages read at once: a document has 2,000, each with some 1,500 terms at most. */
const passagesOfSlice = 32;
/** Rows of the index in one statement. */
const rowsOfSlice = 2_000;

/** Splits work to keep the event loop free: each slice has a statement or a turn of the loop of its own. */
function slicesOf<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.slice(at * size, (at + 1) * size),
  );
}

type Searched = Pick<Passage, 'context' | 'text' | 'words'>;

/** Finds the terms of passages. */
export async function analysePassages<Text extends Searched>(
  db: Queryable,
  passages: readonly Text[],
  analyser: Analyser,
): Promise<(Text & PassageTerms)[]> {
  const analysed: (Text & PassageTerms)[] = [];
  for (const slice of slicesOf(passages, passagesOfSlice))
    analysed.push(...(await analyseSlice(db, slice, analyser)));
  return analysed;
}

async function analyseSlice<Text extends Searched>(
  db: Queryable,
  passages: readonly Text[],
  analyser: Analyser,
): Promise<(Text & PassageTerms)[]> {
  // Most have their words from the process splitting their document.
  const words = passages.map((passage) => passage.words ?? wordsOf(searchedText(passage)));
  const rows = await db.all<{ n: string; terms: string[]; counts: number[]; length: string }>(
    `select n, array_agg(term) as terms, array_agg(count) as counts, sum(count) as length
     from (
       select n, hashtextextended(word, 0) as term, sum(count)::integer as count
       from (${termsOf(analyser, 1)}) as words group by 1, 2
     ) as hashed group by n`,
    [words],
  );
  const byNumber = new Map(rows.map((row) => [Number(row.n), row]));
  return passages.map((passage, index) => {
    const { terms = [], counts = [], length = 0 } = byNumber.get(index + 1) ?? {};
    return { ...passage, analyser: indexedBy(analyser), terms, counts, length: Number(length) };
  });
}

/** Stores passages of a document and adds them to the index. The scope must be locked. */
export async function insertChunks(
  db: Queryable,
  { documentId, ...scope }: IndexTarget,
  passages: readonly AnalysedPassage[],
): Promise<IndexGrowth> {
  return insertPassages(
    db,
    scope,
    passages.map((passage) => ({ ...passage, documentId })),
  );
}

/** The same, for passages of several documents. Also returns the number of the first; the others follow. */
export async function insertPassages(
  db: Queryable,
  { tenantId, scopeId }: Pick<IndexTarget, 'tenantId' | 'scopeId'>,
  passages: readonly IndexedPassage[],
): Promise<IndexGrowth & { first: number }> {
  if (passages.length === 0) return { chunks: 0, tokens: 0, first: 0 };
  const { first } = await db.one<{ first: number }>(
    `update memory.scopes set next_number = next_number + $3 where tenant_id = $1 and id = $2
       returning next_number - $3 as first`,
    [tenantId, scopeId, passages.length],
  );
  const numbered = passages.map((passage, index) => ({ ...passage, number: first + index }));
  for (const slice of slicesOf(numbered, passagesOfSlice))
    await storeChunks(db, { tenantId, scopeId }, slice);
  await addPostings(db, { tenantId, scopeId }, numbered);
  return { chunks: passages.length, tokens: passages.reduce((sum, { length }) => sum + length, 0), first };
}

async function storeChunks(
  db: Queryable,
  { tenantId, scopeId }: Pick<IndexTarget, 'tenantId' | 'scopeId'>,
  passages: readonly (IndexedPassage & { number: number })[],
): Promise<void> {
  await db.query(
    `insert into memory.chunks
       (tenant_id, scope_id, document_id, number, start_line, end_line, context, text, analyser, length,
        terms, counts)
     select $1, $2, document_id, number, start_line, end_line, context, text, analyser, length, terms::bigint[],
            counts::smallint[]
     from unnest($3::integer[], $4::uuid[], $5::integer[], $6::integer[], $7::text[], $8::text[], $9::text[],
                 $10::integer[], $11::text[], $12::text[])
       as passages (number, document_id, start_line, end_line, context, text, analyser, length, terms, counts)`,
    [
      ...[tenantId, scopeId],
      passages.map(({ number }) => number),
      passages.map(({ documentId }) => documentId),
      passages.map(({ startLine }) => startLine),
      passages.map(({ endLine }) => endLine),
      passages.map(({ context }) => context),
      passages.map(({ text }) => text),
      ...columnsOfTerms(passages),
    ],
  );
}

/** Analyser, length, terms and counts of passages. */
export function columnsOfTerms(
  passages: readonly PassageTerms[],
): [analysers: string[], lengths: number[], terms: string[], counts: string[]] {
  return [
    passages.map(({ analyser }) => analyser),
    passages.map(({ length }) => length),
    // As text: PostgreSQL has no arrays of arrays of different lengths.
    passages.map(({ terms }) => `{${terms.join()}}`),
    passages.map(({ counts }) => `{${counts.map((count) => Math.min(count, 32_767)).join()}}`),
  ];
}

type NewPosting = Omit<Posting, 'scopeId'>;

/** The terms of the passage with this number. */
export type NumberedTerms = PassageTerms & { number: number };

/** Adds passages of a scope, which must be locked, to the index. */
export async function addPostings(
  db: Queryable,
  scope: Pick<IndexTarget, 'tenantId' | 'scopeId'>,
  passages: readonly NumberedTerms[],
): Promise<void> {
  for (const [block, neighbours] of Map.groupBy(passages, ({ number }) => blockOf(number)))
    for (const slice of slicesOf([...(await entriesOf(neighbours))], rowsOfSlice)) {
      const postings = slice.map(([term, entries]) => ({ term, block, entries: packEntries(entries) }));
      await mergePostings(db, scope, postings, 'p.entries || excluded.entries');
    }
}

/** The entries of each term in passages of one block. */
async function entriesOf(passages: readonly NumberedTerms[]): Promise<Map<string, number[]>> {
  const entries = new Map<string, number[]>();
  for (const slice of slicesOf(passages, passagesOfSlice)) {
    for (const { number, terms, counts, length } of slice)
      terms.forEach((term, at) => {
        const entry = entryOf({ number, count: counts[at] ?? 1, length });
        const others = entries.get(term);
        if (others === undefined) entries.set(term, [entry]);
        else others.push(entry);
      });
    await setImmediate();
  }
  return entries;
}

/**
 * Inserts rows of the index; `entries` is the SQL for the entries of an existing row. Each row is found by its key. An
 * update joining the rows to `unnest` would compare each with all of the scope, because PostgreSQL underestimates its
 * size: 24 s instead of 0.2 s for 7,000 rows.
 */
async function mergePostings(
  db: Queryable,
  { tenantId, scopeId }: Pick<IndexTarget, 'tenantId' | 'scopeId'>,
  postings: readonly NewPosting[],
  entries: 'excluded.entries' | 'p.entries || excluded.entries',
): Promise<void> {
  if (postings.length === 0) return;
  await db.query(
    `insert into memory.postings as p (tenant_id, scope_id, term, block, entries)
     select $1, $2, term, block, entries from unnest($3::bigint[], $4::integer[], $5::bytea[]) as new (term, block, entries)
     on conflict (tenant_id, scope_id, term, block) do update set entries = ${entries}`,
    [tenantId, scopeId, ...columnsOf(postings)],
  );
}

function columnsOf(postings: readonly NewPosting[]): [string[], number[], Buffer[]] {
  return [
    postings.map(({ term }) => term),
    postings.map(({ block }) => block),
    postings.map(({ entries }) => entries),
  ];
}

/**
 * Removes the passages of documents of one scope, which must be locked, from the index and from the store. They are
 * looked up document by document: otherwise PostgreSQL reads all passages of a scope, because it underestimates its
 * size.
 */
export async function deleteChunks(
  db: Queryable,
  { tenantId, scopeId }: Pick<IndexTarget, 'tenantId' | 'scopeId'>,
  documentIds: readonly string[],
): Promise<IndexGrowth> {
  const rows = await db.all<{ number: number }>(
    `select own.number from unnest($3::uuid[]) as document (id)
     cross join lateral (
       select number from memory.chunks where document_id = document.id and tenant_id = $1 and scope_id = $2 offset 0
     ) as own`,
    [tenantId, scopeId, documentIds],
  );
  const gone: { number: number; length: number; terms: string[] }[] = [];
  for (const slice of slicesOf(rows, passagesOfSlice)) {
    const deleted = await db.all<{ number: number; length: number; terms: string[] }>(
      `delete from memory.chunks where tenant_id = $1 and scope_id = $2 and number = any ($3::integer[])
       returning number, length, terms`,
      [tenantId, scopeId, slice.map(({ number }) => number)],
    );
    gone.push(...deleted);
  }
  await removePostings(db, { tenantId, scopeId }, gone);
  return { chunks: gone.length, tokens: gone.reduce((sum, { length }) => sum + length, 0) };
}

/** Removes passages of a scope, which must be locked, from the index. */
export async function removePostings(
  db: Queryable,
  scope: Pick<IndexTarget, 'tenantId' | 'scopeId'>,
  passages: readonly Pick<NumberedTerms, 'number' | 'terms'>[],
): Promise<void> {
  for (const [block, neighbours] of Map.groupBy(passages, ({ number }) => blockOf(number)))
    await removeFromBlock(db, { ...scope, block }, neighbours);
}

async function removeFromBlock(
  db: Queryable,
  block: { tenantId: string; scopeId: string; block: number },
  passages: readonly Pick<NumberedTerms, 'number' | 'terms'>[],
): Promise<void> {
  const terms = new Set<string>();
  for (const slice of slicesOf(passages, passagesOfSlice)) {
    for (const passage of slice) for (const term of passage.terms) terms.add(term);
    await setImmediate();
  }
  const numbers = new Set(passages.map(({ number }) => number % blockSize));
  for (const slice of slicesOf([...terms], rowsOfSlice)) await removeEntries(db, block, slice, numbers);
}

/** Removes the entries of these passages from rows of one block. */
async function removeEntries(
  db: Queryable,
  { tenantId, scopeId, block }: { tenantId: string; scopeId: string; block: number },
  terms: readonly string[],
  numbers: ReadonlySet<number>,
): Promise<void> {
  const rows = await db.all<NewPosting>(
    `select term, block, entries from memory.postings
     where tenant_id = $1 and scope_id = $2 and term = any ($3::bigint[]) and block = $4`,
    [tenantId, scopeId, terms, block],
  );
  const left = rows.map((row) => ({ ...row, entries: withoutPassages(row.entries, numbers) }));
  const empty = left.filter(({ entries }) => entries.length === 0).map(({ term }) => term);
  const remaining = left.filter(({ entries }) => entries.length > 0);
  await db.query(
    `delete from memory.postings where tenant_id = $1 and scope_id = $2 and term = any ($3::bigint[]) and block = $4`,
    [tenantId, scopeId, empty, block],
  );
  await mergePostings(db, { tenantId, scopeId }, remaining, 'excluded.entries');
}
