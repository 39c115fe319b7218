/** Returns the only row of a result; throws if there is not exactly one. */
export function only<Row>({ rows }: { rows: readonly Row[] }): Row {
  const [row] = rows;
  if (row === undefined || rows.length > 1)
    throw new Error(`a statement returned ${rows.length} rows, not one`);
  return row;
}
