import type { Queryable } from './pool.ts';

/** A statement with its values; with a name it is prepared once for each connection. */
export interface NamedStatement {
  name?: string;
  text: string;
  values?: readonly unknown[];
}

/** All rows that a statement returns. */
export async function allRows<Row extends object>(
  db: Queryable,
  statement: string | NamedStatement,
  values?: readonly unknown[],
): Promise<Row[]> {
  return (await run<Row>(db, statement, values)).rows;
}

/** The first row that a statement returns; null if it returns no row. */
export async function firstRow<Row extends object>(
  db: Queryable,
  statement: string | NamedStatement,
  values?: readonly unknown[],
): Promise<Row | null> {
  return (await run<Row>(db, statement, values)).rows[0] ?? null;
}

/** The only row that a statement returns; throws if there is not exactly one. */
export async function oneRow<Row extends object>(
  db: Queryable,
  statement: string | NamedStatement,
  values?: readonly unknown[],
): Promise<Row> {
  return only(await run<Row>(db, statement, values));
}

/** The number of rows that a statement returns or changes. */
export async function rowCount(
  db: Queryable,
  statement: string | NamedStatement,
  values?: readonly unknown[],
): Promise<number> {
  return (await run(db, statement, values)).rowCount ?? 0;
}

/** Whether a statement returns or changes a row. */
export async function hasRow(
  db: Queryable,
  statement: string | NamedStatement,
  values?: readonly unknown[],
): Promise<boolean> {
  return (await rowCount(db, statement, values)) > 0;
}

/** Returns the only row of a result; throws if there is not exactly one. */
export function only<Row>({ rows }: { rows: readonly Row[] }): Row {
  const [row] = rows;
  if (row === undefined || rows.length > 1)
    throw new Error(`a statement returned ${rows.length} rows, not one`);
  return row;
}

function run<Row extends object>(
  db: Queryable,
  statement: string | NamedStatement,
  values: readonly unknown[] = [],
): Promise<{ rows: Row[]; rowCount: number | null }> {
  const named = typeof statement === 'string' ? { text: statement, values } : statement;
  return db.query<Row>({ ...named, values: [...(named.values ?? [])] });
}
