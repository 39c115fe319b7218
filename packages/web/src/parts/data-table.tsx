import { csvMark, csvOf, type Cell } from '@gatehouse/kit/csv';
import type { ComponentChildren } from 'preact';
import { mostRows } from '../bounds.ts';
import type { Compare } from '../format/order.ts';
import { useParameter } from '../shell/location.tsx';
import { saveFile } from './save-file.ts';
import { Table, type Column, type TableProps } from './table.tsx';

/** A column by which rows can be in order, if it has `compare`. */
export interface OrderedColumn<Row> extends Column<Row> {
  compare?: Compare<Row>;
  /** The cell of a file: as the API returned it. Null for a picture, which has no column there. */
  value: ((row: Row) => Cell) | null;
  /** The unit of figures, which the header of a file names. */
  unit?: 'ms' | 's';
}

interface OrderedTableProps<Row> extends TableProps<Row> {
  columns: readonly OrderedColumn<Row>[];
  /** The name of the saved file of the table. */
  file: string;
  /** The parameter of the address with the order; the only table of a page needs no name of its own. */
  parameter?: string;
  label?: string;
  /** Whether the API left rows out. */
  isTruncated?: boolean;
  /** Exports of the API, in place of a file of the page's rows. */
  exports?: ComponentChildren;
}

/** All rows of an answer, in the order of the address: the first 200 shown, all of them in the file. */
export function OrderedTable<Row>({
  file,
  parameter = 'sort',
  label = 'Order',
  isTruncated = false,
  exports,
  rows,
  ...table
}: OrderedTableProps<Row>) {
  const [sort, setSort] = useParameter(parameter);
  const ordering = table.columns.filter(({ compare }) => compare !== undefined);
  const by = ordering.find(({ header }) => header === sort);
  const saved = table.columns.filter(({ value }) => value !== null);
  const sorted = by === undefined ? rows : rows.toSorted(by.compare);
  const save = (): void => {
    const header = saved.map(({ header: name, unit }) => (unit === undefined ? name : `${name} (${unit})`));
    const cells = sorted.map((row) => saved.map(({ value }) => value?.(row) ?? null));
    saveFile(new Blob([csvMark, csvOf(header, cells)], { type: 'text/csv' }), file);
  };
  return (
    <>
      <Table {...table} rows={sorted.slice(0, mostRows)} />
      {rows.length === 0 ? null : (
        <p class="actions">
          {rows.length < 2 || ordering.length === 0 ? null : (
            <OrderChoice
              label={label}
              headers={ordering.map(({ header }) => header)}
              value={sort}
              onChange={setSort}
            />
          )}
          {exports ?? (
            <button type="button" aria-label={`Save as CSV: ${table.caption}`} onClick={save}>
              Save as CSV
            </button>
          )}
          {rows.length > mostRows ? <span>The first {mostRows} are shown; the CSV has all.</span> : null}
          {isTruncated && exports === undefined ? (
            <strong>The API left groups out. Choose a shorter period.</strong>
          ) : null}
        </p>
      )}
    </>
  );
}

interface OrderChoiceProps {
  label: string;
  /** The headers of the columns by which rows can be in order. */
  headers: readonly string[];
  value: string;
  onChange: (header: string) => void;
}

/** Lets a person choose the order of rows. */
function OrderChoice({ label, headers, value, onChange }: OrderChoiceProps) {
  return (
    <label>
      {label}{' '}
      <select
        value={headers.includes(value) ? value : ''}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        <option value="">as returned</option>
        {headers.map((header) => (
          <option key={header} value={header}>
            {header}
          </option>
        ))}
      </select>
    </label>
  );
}
