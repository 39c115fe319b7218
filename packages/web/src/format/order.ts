/** The order of two rows, for `toSorted`. */
export type Compare<Row> = (one: Row, other: Row) => number;

export function byText<Row>(text: (row: Row) => string): Compare<Row> {
  return (one, other) => text(one).localeCompare(text(other));
}

/** Largest first; unknown figures come last. */
export function byFigure<Row>(figure: (row: Row) => number | null): Compare<Row> {
  return (one, other) => {
    const [a, b] = [figure(one) ?? -Infinity, figure(other) ?? -Infinity];
    return a === b ? 0 : b - a;
  };
}
