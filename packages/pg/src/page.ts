import { pageBytes, type PageRows } from '@gatehouse/kit/page';
import type { Queryable } from './pool.ts';

export interface PageQuery {
  columns: string;
  /** The table and the `where` clause. */
  from: string;
  /** The `order by` list, with names both of the table and of `columns`. */
  order: string;
  /** SQL expression for the size of a row in bytes, over the possibly large columns: `sizeOf`. */
  size: string;
  limit: number;
  values: readonly unknown[];
}

/**
 * SQL expression for the total size of columns, for `PageQuery.size`. For `text`, PostgreSQL reads only the header of
 * the stored value; `json`, `jsonb` and arrays need a cast (`metadata::text`), for which it reads the whole value.
 */
export function sizeOf(...columns: readonly string[]): string {
  return columns.map((column) => `coalesce(octet_length(${column}), 0)`).join(' + ');
}

interface PageColumns {
  page_size: unknown;
  page_before: unknown;
  page_found: string;
}

/**
 * Reads at most `limit` rows, and stops after the row reaching `pageBytes`, so the first row is always returned.
 * PostgreSQL applies the limit, so the service never holds more.
 */
export async function readPage<Row extends object>(db: Queryable, query: PageQuery): Promise<PageRows<Row>> {
  const { columns, from, order, size, limit, values } = query;
  const { rows } = await db.query<Row & PageColumns>(
    `select page.* from (
       select found.*, count(*) over () as page_found,
              sum(page_size) over (order by ${order} rows between unbounded preceding and 1 preceding) as page_before
       from (select ${columns}, ${size} as page_size from ${from} order by ${order} limit ${limit + 1}) as found
     ) as page
     where coalesce(page_before, 0) < ${pageBytes}
     order by ${order}`,
    [...values],
  );
  const pageRows = rows.slice(0, limit);
  return { rows: pageRows.map(withoutPageColumns), more: Number(rows[0]?.page_found ?? 0) > pageRows.length };
}

function withoutPageColumns<Row extends object>(row: Row & PageColumns): Row {
  const { page_size: _size, page_before: _before, page_found: _found, ...rest } = row;
  return rest as unknown as Row;
}
