import { csvMark, csvOf, type Cell } from '@gatehouse/kit/csv';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { mostRows } from '../bounds.ts';
import { count } from '../format/amounts.ts';
import type { Compare } from '../format/order.ts';
import { useParameter } from '../shell/location.tsx';
import { saveFile } from './save-file.ts';
import { Table, type Column, type Order, type TableProps } from './table.tsx';

/** A column by which rows can be in order, if it has `compare`: what matters first comes first. */
export interface DataColumn<Row> extends Column<Row> {
  compare?: Compare<Row>;
  /** The cell of a file: as the API returned it. Null for a picture, which has no column there. */
  value: ((row: Row) => Cell) | null;
  /** The text that the filter searches, where it is not `value`. */
  text?: (row: Row) => string;
  /** The unit of figures, which the header of a file names. */
  unit?: 'ms' | 's';
}

interface DataTableProps<Row> extends TableProps<Row> {
  columns: readonly DataColumn<Row>[];
  /** The name of the saved file of the table. */
  file: string;
  /** The first order: a header, with a minus sign for the reverse. Default: as the API returned them. */
  orderBy?: string;
  /** The parameter of the address with the order; the only table of a page needs no name of its own. */
  parameter?: string;
  /** Whether the API left rows out. */
  isTruncated?: boolean;
  /** Exports of the API, in place of a file of the page's rows. */
  exports?: ComponentChildren;
}

/** Shorter tables have no filter: all of their rows are in sight. */
const filterFrom = 9;

/**
 * All rows of an answer: sorted by a click on a header, which the address keeps, and filtered by text. The first 200 are
 * shown, all of them are in the file.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { file, orderBy = '', parameter = 'sort', isTruncated = false, exports, rows, ...table } = props;
  const [sort, setSort] = useParameter(parameter);
  const [filter, setFilter] = useState('');
  const sortable = table.columns.filter(({ compare }) => compare !== undefined).map(({ header }) => header);
  const order = orderIn(sort === '' ? orderBy : sort, sortable);
  const sorted = inOrder(rows, table.columns, order);
  const visible =
    filter === '' ? sorted : sorted.filter((row) => textOf(row, table.columns).includes(filter));
  const click = (header: string): void =>
    setSort(order?.header === header && !order.isReversed ? `-${header}` : header);
  const save = (): void =>
    saveFile(new Blob([csvMark, csvIn(table.columns, sorted)], { type: 'text/csv' }), file);
  return (
    <>
      {rows.length < filterFrom ? null : (
        <p class="table-tools">
          <input
            type="search"
            placeholder="Filter"
            aria-label={`Filter: ${table.caption}`}
            onInput={({ currentTarget }) => setFilter(currentTarget.value.trim().toLowerCase())}
          />
          {filter === '' ? null : (
            <span role="status">{`${count(visible.length)} of ${count(rows.length)} rows`}</span>
          )}
        </p>
      )}
      <Table
        {...table}
        rows={visible.slice(0, mostRows)}
        {...(filter !== '' && { totals: undefined, empty: 'No row has this text.' })}
        {...(rows.length > 1 && { sortable, order, onOrder: click })}
      />
      {rows.length === 0 ? null : (
        <p class="actions">
          {exports ?? (
            <button type="button" aria-label={`Save as CSV: ${table.caption}`} onClick={save}>
              Save as CSV
            </button>
          )}
          {visible.length > mostRows ? <span>The first {mostRows} are shown; the CSV has all.</span> : null}
        </p>
      )}
      {isTruncated ? (
        <p>
          <strong>
            {exports === undefined
              ? 'The API left groups out. Choose a shorter period.'
              : 'The API left groups out of this table. The CSV has all.'}
          </strong>
        </p>
      ) : null}
    </>
  );
}

/** The order that a parameter names: a header, with a minus sign for the reverse. */
function orderIn(text: string, sortable: readonly string[]): Order | null {
  const isReversed = text.startsWith('-');
  const header = isReversed ? text.slice(1) : text;
  return sortable.includes(header) ? { header, isReversed } : null;
}

function inOrder<Row>(rows: readonly Row[], columns: readonly DataColumn<Row>[], order: Order | null) {
  const compare = columns.find(({ header }) => header === order?.header)?.compare;
  if (compare === undefined) return rows;
  const sorted = rows.toSorted(compare);
  return order?.isReversed === true ? sorted.toReversed() : sorted;
}

function textOf<Row>(row: Row, columns: readonly DataColumn<Row>[]): string {
  const texts = columns.map(({ text, value }) => text?.(row) ?? String(value?.(row) ?? ''));
  return texts.join('\n').toLowerCase();
}

function csvIn<Row>(columns: readonly DataColumn<Row>[], rows: readonly Row[]): string {
  const saved = columns.filter(({ value }) => value !== null);
  const header = saved.map(({ header: name, unit }) => (unit === undefined ? name : `${name} (${unit})`));
  return csvOf(
    header,
    rows.map((row) => saved.map(({ value }) => value?.(row) ?? null)),
  );
}
