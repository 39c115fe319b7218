export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

export const figure = (value: number, digits = 1): string => value.toFixed(digits);

/** Prints rows as a table. The first one has the names of the columns. */
export function print(rows: readonly string[][]): void {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
  for (const row of rows)
    console.log(
      row
        .map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)))
        .join('  '),
    );
  console.log('');
}
