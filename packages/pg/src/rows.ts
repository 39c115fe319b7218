import type { QueryResult } from 'pg';

/** A statement with its values; with a name it is prepared once for each connection. */
export interface NamedStatement {
  name?: string | undefined;
  text: string;
  values?: readonly unknown[] | undefined;
  /** Rows as arrays of their columns. */
  rowMode?: 'array';
  /** See `TimedQuery`. */
  giveUpAfterMs?: number;
}

type Statement = string | NamedStatement;

/** Runs statements, and returns what they are run for. */
export interface Verbs {
  /** All rows a statement returns. */
  all: <Row extends object>(statement: Statement, values?: readonly unknown[]) => Promise<Row[]>;
  /** The first row a statement returns; null if it returns no row. */
  first: <Row extends object>(statement: Statement, values?: readonly unknown[]) => Promise<Row | null>;
  /** The only row a statement returns; throws if there is not exactly one. */
  one: <Row extends object>(statement: Statement, values?: readonly unknown[]) => Promise<Row>;
  /** The number of rows a statement returns or changes. */
  count: (statement: Statement, values?: readonly unknown[]) => Promise<number>;
  /** Whether a statement returns or changes a row. */
  exists: (statement: Statement, values?: readonly unknown[]) => Promise<boolean>;
}

/** Sends a statement. */
type Send = (statement: Statement, values?: unknown[]) => Promise<QueryResult>;

/** The verbs of a pool or client; `send` runs a statement. */
export function verbsOf(send: Send): Verbs {
  const run = (statement: Statement, values?: readonly unknown[]): Promise<QueryResult> =>
    // An array would take precedence over the values of a named statement.
    values === undefined ? send(statement) : send(statement, [...values]);
  const count = async (...input: Parameters<Verbs['count']>): Promise<number> =>
    (await run(...input)).rowCount ?? 0;
  return {
    all: async <Row>(...input: Parameters<Verbs['all']>) => (await run(...input)).rows as Row[],
    first: async <Row>(...input: Parameters<Verbs['all']>) =>
      ((await run(...input)).rows as Row[])[0] ?? null,
    one: async <Row>(...input: Parameters<Verbs['all']>) => only<Row>(await run(...input)),
    count,
    exists: async (...input) => (await count(...input)) > 0,
  };
}

/** Returns the only row of a result; throws if there is not exactly one. */
export function only<Row>({ rows }: { rows: readonly Row[] }): Row {
  const [row] = rows;
  if (row === undefined || rows.length > 1)
    throw new Error(`a statement returned ${rows.length} rows, not one`);
  return row;
}
