import { useEffect } from 'preact/hooks';
import type { AnswerOf, InputOf, ItemOf, ListName } from '../api/endpoint-types.ts';
import { useAnswer } from '../api/use-answer.ts';
import { urlWith, useView } from '../shell/location.tsx';
import { KnownAnswer } from './known-answer.tsx';
import { ListExport } from './list-export.tsx';
import { Table, type Column, type Order } from './table.tsx';

interface ResourceListProps<Name extends ListName> {
  name: Name;
  /** Parameters of the path, and filters. */
  input: InputOf<Name>;
  caption: string;
  columns: (reload: () => void) => readonly Column<ItemOf<Name>>[];
  keyOf: (item: ItemOf<Name>) => string;
  empty: string;
  /** The headers by which the API sorts, with its values of `sort`; the first one is its default. */
  sorts?: Readonly<Record<string, string>>;
  /** The parameter of the address for the page. Default: `cursor`. A second list of a view has its own. */
  parameter?: string;
  /** Loads the page again so often, while people see it and have no dialog open. Default: never. */
  refreshMs?: number;
}

/** A list of the API, page by page: the page is part of the address, so going back leads to the one before. */
export function ResourceList<Name extends ListName>(props: ResourceListProps<Name>) {
  const { path, query, go } = useView();
  const { parameter = 'cursor', sorts = {} } = props;
  const cursor = query.get(parameter) ?? '';
  const sort = query.get('sort') ?? '';
  const header = Object.hasOwn(sorts, sort) ? sort : Object.keys(sorts)[0];
  const sorted = header === undefined ? {} : { sort: sorts[header] };
  const input = { ...props.input, query: { ...props.input.query, ...sorted, limit: '50', cursor } };
  const known = useAnswer(props.name, input);
  const columns = props.columns(known.reload);
  useRefresh(known.refresh, props.refreshMs);
  // A page of "the last 7 days" is of other days tomorrow: then the list begins with its first page.
  const isOver = known.error?.code === 'cursor_mismatch' && cursor !== '';
  useEffect(() => {
    if (isOver) go(urlWith(path, query, { [parameter]: '' }), { replace: true });
  }, [isOver]);
  return (
    <KnownAnswer known={known}>
      {(answer: AnswerOf<Name>) => (
        <>
          <Table
            caption={props.caption}
            columns={columns}
            rows={answer.data}
            keyOf={props.keyOf}
            empty={emptyText(answer.has_more, cursor === '' ? props.empty : 'There are no more.')}
            sortable={Object.keys(sorts)}
            order={header === undefined ? null : descendingBy(header, columns)}
            onOrder={(next) => go(urlWith(path, query, { sort: next, [parameter]: '' }))}
          />
          <p class="pager">
            {cursor === '' ? null : <a href={urlWith(path, query, { [parameter]: '' })}>First page</a>}
            {answer.next_cursor === null || !answer.has_more ? null : (
              <a href={urlWith(path, query, { [parameter]: answer.next_cursor })}>Next page</a>
            )}
          </p>
          {answer.data.length === 0 && cursor === '' ? null : (
            <ListExport
              name={props.name}
              input={{ ...props.input, query: { ...props.input.query, ...sorted } }}
              caption={props.caption}
            />
          )}
        </>
      )}
    </KnownAnswer>
  );
}

function useRefresh(refresh: () => void, everyMs: number | undefined): void {
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(refresh, everyMs);
    return () => clearInterval(timer);
  }, [refresh, everyMs]);
}

/** A filter can leave nothing of a page that the API has read. */
function emptyText(hasMore: boolean, text: string): string {
  return hasMore ? 'Nothing on this page matches. Go on to the next one.' : text;
}

/** The API sorts in descending order alone; texts of a table begin with the first of the alphabet. */
function descendingBy<Row>(header: string, columns: readonly Column<Row>[]): Order {
  const isNumber = columns.some((column) => column.header === header && column.isNumber === true);
  return { header, isReversed: !isNumber };
}
