import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { TitleContext } from '../shell/title.ts';
import { EmptyText } from './empty-state.tsx';

export interface Column<Row> {
  header: string;
  cell: (row: Row) => ComponentChildren;
  /** Right-aligned figures. */
  isNumber?: true;
}

/** The order of rows: by the header of a column, which begins with what matters first. */
export interface Order {
  header: string;
  isReversed: boolean;
}

export interface TableProps<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** The words for no rows: the fact, and the next step. */
  empty: string;
  /** The totals of the API for all rows, by the headers of their columns. */
  totals?: Readonly<Record<string, ComponentChildren>> | undefined;
}

interface SortableProps {
  /** The headers by which rows can be in order. */
  sortable?: readonly string[];
  order?: Order | null;
  onOrder?: (header: string) => void;
}

/** A table. It scrolls inside itself, also by keyboard. */
export function Table<Row>(props: TableProps<Row> & SortableProps) {
  const { caption, columns, rows, keyOf, empty, totals } = props;
  const isTitled = useContext(TitleContext) === caption;
  if (rows.length === 0) return <EmptyText text={empty} />;
  return (
    <div class="wide" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption class={isTitled ? 'unseen' : undefined}>{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Header key={column.header} column={column} {...props} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ header, cell, isNumber }) => (
                <td key={header} class={isNumber && 'number'}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
        {totals === undefined ? null : (
          <tfoot>
            <tr>
              {columns.map(({ header, isNumber }, index) => (
                <td key={header} class={isNumber && 'number'}>
                  {index === 0 ? 'Total' : totals[header]}
                </td>
              ))}
            </tr>
          </tfoot>
        )}
      </table>
    </div>
  );
}

type HeaderProps<Row> = SortableProps & { column: Column<Row> };

function Header<Row>({ column, sortable = [], order, onOrder }: HeaderProps<Row>) {
  const { header, isNumber } = column;
  const isCurrent = order?.header === header;
  // Figures begin with the largest, texts with the first of the alphabet.
  const isDescending = (isNumber === true) !== (order?.isReversed ?? false);
  return (
    <th
      scope="col"
      class={isNumber && 'number'}
      aria-sort={isCurrent ? (isDescending ? 'descending' : 'ascending') : undefined}
    >
      {sortable.includes(header) ? (
        <button type="button" class="sort" onClick={() => onOrder?.(header)}>
          {header}
        </button>
      ) : (
        header
      )}
    </th>
  );
}
