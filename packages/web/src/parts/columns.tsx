import { compareDecimals, count, milliseconds } from '../format/amounts.ts';
import { byFigure, byText } from '../format/order.ts';
import type { DataColumn } from './data-table.tsx';
import { Money } from './money.tsx';
import { Time } from './time.tsx';

/** A column of texts, which are shown as the API returned them. */
export function textColumn<Row>(header: string, text: (row: Row) => string): DataColumn<Row> {
  return { header, cell: text, value: text, compare: byText(text) };
}

/** A column of times. */
export function timeColumn<Row>(
  header: string,
  time: (row: Row) => string | null,
  otherwise?: string,
): DataColumn<Row> {
  const cell = (row: Row) => <Time at={time(row)} {...(otherwise !== undefined && { otherwise })} />;
  return { header, cell, value: time, compare: byText((row) => time(row) ?? '') };
}

/** A column of figures, or of nulls for unknown ones. */
export function figureColumn<Row>(
  header: string,
  figure: (row: Row) => number | null,
  format: (figure: number | null) => string = countOrNone,
): DataColumn<Row> {
  const compare = byFigure(figure);
  return { header, cell: (row) => format(figure(row)), value: figure, isNumber: true, compare };
}

/** A column of durations. */
export function durationColumn<Row>(header: string, duration: (row: Row) => number | null): DataColumn<Row> {
  return { ...figureColumn(header, duration, milliseconds), unit: 'ms' };
}

/** A column of amounts in USD, largest first, or of nulls for unknown ones. */
export function amountColumn<Row>(header: string, amountOf: (row: Row) => string | null): DataColumn<Row> {
  const cell = (row: Row) => {
    const amount = amountOf(row);
    return amount === null ? '–' : <Money amount={amount} />;
  };
  const compare = (one: Row, other: Row): number =>
    compareDecimals(amountOf(other) ?? '0', amountOf(one) ?? '0');
  return { header, cell, value: amountOf, isNumber: true, compare };
}

/**
 * A bar for the share of a row in the total. Only its length is drawn: the figures beside it are the API's.
 */
export function shareColumn<Row>(
  header: string,
  { part, total }: { part: (row: Row) => number; total: number },
): DataColumn<Row> {
  const cell = (row: Row) => {
    const width = total > 0 ? `${Math.min(100, (part(row) / total) * 100)}%` : '0';
    return (
      <span class="share" aria-hidden="true">
        <span style={{ width }} />
      </span>
    );
  };
  return { header, cell, value: null, text: () => '' };
}

function countOrNone(figure: number | null): string {
  return figure === null ? '–' : count(figure);
}
