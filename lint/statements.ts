/** A statement that joins an array to a table in a way that PostgreSQL may carry out as a comparison of all with all. */
export interface JoinedArray {
  line: number;
  problem: string;
}

const advice = 'find each row by its key: cross join lateral (… limit 1), or insert … on conflict';

/**
 * PostgreSQL compares each row with each element where it expects few rows, and it does so for every tenant that is
 * larger than the others; not with those of an array of the row itself. `= any ($n)` beside it keeps the rows of an
 * update to those of the array.
 */
const kinds = [
  {
    pattern:
      /\bupdate\s+\S+(?:\s+(?:as\s+)?\w+)?\s+set\b(?:(?!\bupdate\b)[^])*?\bfrom\s+(?:\w+,\s*)?unnest\(\$/gi,
    isBounded: (statement: string) => /=\s*any\s?\(\$/i.test(statement),
    problem: `updates a table from an array: ${advice}`,
  },
  {
    // A name without a schema is that of a common table expression.
    pattern:
      /\bunnest\([^`]*?\)\s*(?:with ordinality\s*)?as\s+\w+\s*\([^)]*\)\s+(?:left\s+)?join\s+(?:\w+\.|\$\{)/gi,
    isBounded: () => false,
    problem: `joins a table to an array: ${advice}`,
  },
  {
    pattern: /(?<!cross )\bjoin\s+unnest\(/gi,
    isBounded: () => false,
    problem: `joins an array to a table: ${advice}`,
  },
  {
    pattern: /\bin\s+\(select\b[^()`]*\bfrom\s+unnest\(/gi,
    isBounded: () => false,
    problem: `looks for rows in an array: ${advice}`,
  },
];

/** Finds such statements in the source of a store. */
export function joinedArrays(source: string): JoinedArray[] {
  return [...source.matchAll(/`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)*'/g)].flatMap(({ 0: literal, index }) =>
    kinds.flatMap(({ pattern, isBounded, problem }) =>
      [...literal.matchAll(pattern)]
        .filter(() => !isBounded(literal))
        .map((found) => ({ line: source.slice(0, index + found.index).split('\n').length, problem })),
    ),
  );
}
