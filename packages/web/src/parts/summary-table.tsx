import type { ComponentChildren } from 'preact';
import { byText, type Compare } from '../format/order.ts';
import { useParameter } from '../shell/location.tsx';
import { CsvLink } from './csv-link.tsx';
import { OrderChoice } from './order-choice.tsx';
import { Table, type Column } from './table.tsx';

/** A column of groups of a summary: the figure, as shown and as the API returned it. */
export interface FigureColumn<Group> {
  header: string;
  text: (group: Group) => string;
  showGroup?: (group: Group) => ComponentChildren;
  isNumber?: true;
  compare?: Compare<Group>;
}

interface SummaryTableProps<Group> {
  caption: string;
  file: string;
  columns: readonly FigureColumn<Group>[];
  groups: readonly Group[];
  keyOf: (group: Group) => string;
  isTruncated: boolean;
  /** Exports of the API, in place of a file of the groups that the page has. */
  exports?: ComponentChildren;
}

const mostShown = 200;

/** All groups of a summary: in an order that the address names, the first 200 shown, all of them in the CSV. */
export function SummaryTable<Group>(props: SummaryTableProps<Group>) {
  const { caption, file, columns, groups, keyOf, isTruncated, exports } = props;
  const [sort, setSort] = useParameter('sort');
  const by = columns.find(({ header }) => header === sort);
  const sorted = by === undefined ? groups : groups.toSorted(by.compare ?? byText(by.text));
  const tableColumns: Column<Group>[] = columns.map(({ header, text, showGroup: show, isNumber }) => ({
    header,
    cell: show ?? text,
    ...(isNumber && { isNumber }),
  }));
  return (
    <>
      <Table
        caption={caption}
        columns={tableColumns}
        rows={sorted.slice(0, mostShown)}
        keyOf={keyOf}
        empty="No runs in this period."
      />
      {groups.length === 0 ? null : (
        <p class="actions">
          <OrderChoice
            label="Order"
            headers={columns.map(({ header }) => header)}
            value={sort}
            onChange={setSort}
          />
          {exports ?? (
            <CsvLink
              file={file}
              header={columns.map(({ header }) => header)}
              rows={sorted.map((group) => columns.map(({ text }) => text(group)))}
            />
          )}
          {groups.length > mostShown ? <span>The first {mostShown} are shown; the CSV has all.</span> : null}
          {isTruncated && exports === undefined ? (
            <strong>The API left groups out. Choose a shorter period.</strong>
          ) : null}
        </p>
      )}
    </>
  );
}
