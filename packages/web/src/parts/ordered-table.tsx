import type { Cell } from '@gatehouse/kit/csv';
import { count } from '../format/amounts.ts';
import { byFigure, byText, type Compare } from '../format/order.ts';
import { useParameter } from '../shell/location.tsx';
import { CsvLink } from './csv-link.tsx';
import { OrderChoice } from './order-choice.tsx';
import { Table, type Column, type TableProps } from './table.tsx';

/** A column by which rows can be in order, if it has `compare`. */
export interface OrderedColumn<Row> extends Column<Row> {
  compare?: Compare<Row>;
  /** The cell of a file: as the API returned it. */
  value: (row: Row) => Cell;
  /** The unit of figures, which the header of a file names. */
  unit?: 'ms' | 's';
}

interface OrderedTableProps<Row> extends TableProps<Row> {
  columns: readonly OrderedColumn<Row>[];
  /** The name of the file that the table is saved to. */
  file: string;
  /** The parameter of the address that names the order; the only table of a page needs none of its own. */
  parameter?: string;
  label?: string;
}

/** All rows of an answer, in an order that the address names. They are saved as they are shown. */
export function OrderedTable<Row>({
  file,
  parameter = 'sort',
  label = 'Order',
  rows,
  ...table
}: OrderedTableProps<Row>) {
  const [sort, setSort] = useParameter(parameter);
  const ordering = table.columns.filter(({ compare }) => compare !== undefined);
  const by = ordering.find(({ header }) => header === sort);
  const sorted = by === undefined ? rows : rows.toSorted(by.compare);
  return (
    <>
      <Table {...table} rows={sorted} />
      {rows.length === 0 ? null : (
        <p class="actions">
          {rows.length < 2 ? null : (
            <OrderChoice
              label={label}
              headers={ordering.map(({ header }) => header)}
              value={sort}
              onChange={setSort}
            />
          )}
          <CsvLink
            file={file}
            of={table.caption}
            header={table.columns.map(({ header, unit }) =>
              unit === undefined ? header : `${header} (${unit})`,
            )}
            rows={sorted.map((row) => table.columns.map(({ value }) => value(row)))}
          />
        </p>
      )}
    </>
  );
}

/** A column of texts, which are shown as the API returned them. */
export function textColumn<Row>(header: string, text: (row: Row) => string): OrderedColumn<Row> {
  return { header, cell: text, value: text, compare: byText(text) };
}

/** A column of figures, or of nulls for those that are not known. */
export function figureColumn<Row>(
  header: string,
  figure: (row: Row) => number | null,
  shown: (figure: number | null) => string = countOrNone,
): OrderedColumn<Row> {
  const compare = byFigure(figure);
  return { header, cell: (row) => shown(figure(row)), value: figure, isNumber: true, compare };
}

function countOrNone(figure: number | null): string {
  return figure === null ? '–' : count(figure);
}
