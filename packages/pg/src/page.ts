import type { Queryable } from './pool.ts';

/** How much a page of a list may hold, in bytes: of rows as they are read, and of items as they are sent. */
export const pageBytes = 4 * 1024 * 1024;

export interface PageQuery {
  columns: string;
  /** The table, and its `where`. */
  from: string;
  /** The order of the rows, by names that both the table and `columns` have. */
  order: string;
  /** The size of a row in bytes, over those columns of the table that may be large: `sizeOf`. */
  size: string;
  limit: number;
  values: readonly unknown[];
}

/** Rows of a page, and whether there are more after them. */
export interface PageRows<Row> {
  rows: Row[];
  more: boolean;
}

/**
 * The size of columns together, for `PageQuery.size`. PostgreSQL takes that of a `text` from the head of the stored
 * value; `json`, `jsonb` and arrays need a cast (`metadata::text`), for which it reads the value.
 */
export function sizeOf(...columns: readonly string[]): string {
  return columns.map((column) => `coalesce(octet_length(${column}), 0)`).join(' + ');
}

interface Marks {
  page_size: unknown;
  page_before: unknown;
  page_found: string;
}

/**
 * The first rows of a list: at most `limit`, and none after the row with which they reach `pageBytes`; so the first row
 * always. PostgreSQL makes the cut: the service never holds more.
 */
export async function readPage<Row extends object>(db: Queryable, query: PageQuery): Promise<PageRows<Row>> {
  const { columns, from, order, size, limit, values } = query;
  const { rows } = await db.query<Row & Marks>(
    `select page.* from (
       select found.*, count(*) over () as page_found,
              sum(page_size) over (order by ${order} rows between unbounded preceding and 1 preceding) as page_before
       from (select ${columns}, ${size} as page_size from ${from} order by ${order} limit ${limit + 1}) as found
     ) as page
     where coalesce(page_before, 0) < ${pageBytes}
     order by ${order}`,
    [...values],
  );
  const kept = rows.slice(0, limit);
  return { rows: kept.map(withoutMarks), more: Number(rows[0]?.page_found ?? 0) > kept.length };
}

function withoutMarks<Row extends object>(row: Row & Marks): Row {
  const { page_size: _size, page_before: _before, page_found: _found, ...rest } = row;
  return rest as unknown as Row;
}
