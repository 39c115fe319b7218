import type { Compare } from '../format/order.ts';
import { useParameter } from '../shell/location.tsx';
import { OrderChoice } from './order-choice.tsx';
import { Table, type Column, type TableProps } from './table.tsx';

/** A column by which rows can be in order, if it has `compare`. */
export interface OrderedColumn<Row> extends Column<Row> {
  compare?: Compare<Row>;
}

interface OrderedTableProps<Row> extends TableProps<Row> {
  columns: readonly OrderedColumn<Row>[];
  /** The parameter of the address that names the order; the only table of a page needs none of its own. */
  parameter?: string;
  label?: string;
}

/** All rows of an answer, in an order that the address names. */
export function OrderedTable<Row>({
  parameter = 'sort',
  label = 'Order',
  rows,
  ...table
}: OrderedTableProps<Row>) {
  const [sort, setSort] = useParameter(parameter);
  const ordering = table.columns.filter(({ compare }) => compare !== undefined);
  const by = ordering.find(({ header }) => header === sort);
  return (
    <>
      <Table {...table} rows={by === undefined ? rows : rows.toSorted(by.compare)} />
      {rows.length < 2 ? null : (
        <p class="actions">
          <OrderChoice
            label={label}
            headers={ordering.map(({ header }) => header)}
            value={sort}
            onChange={setSort}
          />
        </p>
      )}
    </>
  );
}
