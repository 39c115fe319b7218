import { kinds } from '../../search/words.ts';
import type { Analyser } from '../../shared/memory-key.ts';

/** The version of the words and terms. An index of another version is rebuilt. */
export const tokeniser = 2;

/** The kind of parts of words, which weigh less than words. */
export const partKind = '3';
/** Distinguishes a part from a word. */
const part = String.raw`E'\x01'`;

/** The name in `memory.chunks` of an analyser with this tokeniser: in SQL, or as a value. */
export const indexedBySql = (analyser: string): string => `${analyser} || '/${tokeniser}'`;
export const indexedBy = (analyser: Analyser): string => `${analyser}/${tokeniser}`;

/**
 * The SQL query for the terms of texts `$<texts>`, an array with the words of a text as each element: the number of the
 * text from 1, kind, word and how often it occurs. No operation depends on the locale of the database.
 */
export function termsOf(analyser: Analyser, texts: number): string {
  const counted = `select n, left(token, 1) as kind, substr(token, 2) as word, count(*)::integer as count
    from unnest($${texts}::text[]) with ordinality as input (words, n)
    cross join lateral unnest(string_to_array(words, ' ')) as token group by n, token`;
  return analyser === 'english' ? stemmed(counted) : withParts(counted);
}

/** Words of English by their stem, without stop words. */
function stemmed(counted: string): string {
  return `select n, kind, word, count
    from (
      select n, kind, count,
             case kind when '${kinds.ascii}' then (ts_lexize('pg_catalog.english_stem', word))[1] else word end as word
      from (${counted}) as counted where kind <> '${kinds.name}'
    ) as stemmed where word is not null`;
}

/** Words as they are, and three neighbouring characters of longer ones, to find a word by its beginning. */
function withParts(counted: string): string {
  return `with counted as (${counted})
    select n, kind, word, count from counted
    union all
    select n, '${partKind}', ${part} || substr(word, at, 3), count
    from counted cross join lateral generate_series(1, length(word) - 2) as at
    where kind in ('${kinds.ascii}', '${kinds.plain}') and length(word) > 3`;
}

/** The terms of a text in an index of the tokeniser before, which left the words of English to PostgreSQL. */
export function formerTermsOf(text: number): string {
  return `select 1 as n, '${kinds.ascii}' as kind, word, 1 as count
    from unnest(to_tsvector('english', $${text}::text)) as former (word)`;
}
