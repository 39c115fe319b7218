import type { AnswerOf, InputOf, ItemOf, ListName } from '../api/endpoints.ts';
import { useAnswer } from '../api/use-answer.ts';
import { urlWith, useView } from '../shell/location.tsx';
import { KnownAnswer } from './known-answer.tsx';
import { ListExport } from './list-export.tsx';
import { Table, type Column } from './table.tsx';

interface ResourceListProps<Name extends ListName> {
  name: Name;
  /** Parameters of the path, and filters. */
  input: InputOf<Name>;
  caption: string;
  columns: (reload: () => void) => readonly Column<ItemOf<Name>>[];
  keyOf: (item: ItemOf<Name>) => string;
  empty: string;
  /** The parameter of the address for the page. Default: `cursor`. A second list of a view has its own. */
  parameter?: string;
}

/** A list of the API, page by page: the page is part of the address, so going back leads to the one before. */
export function ResourceList<Name extends ListName>(props: ResourceListProps<Name>) {
  const { path, query } = useView();
  const { parameter = 'cursor' } = props;
  const cursor = query.get(parameter) ?? '';
  const input = { ...props.input, query: { ...props.input.query, limit: '50', cursor } };
  const known = useAnswer(props.name, input);
  return (
    <KnownAnswer known={known}>
      {(answer: AnswerOf<Name>) => (
        <>
          <Table
            caption={props.caption}
            columns={props.columns(known.reload)}
            rows={answer.data}
            keyOf={props.keyOf}
            empty={cursor === '' ? props.empty : 'There are no more.'}
          />
          <p class="pager">
            {cursor === '' ? null : <a href={urlWith(path, query, { [parameter]: '' })}>First page</a>}
            {answer.next_cursor === null || !answer.has_more ? null : (
              <a href={urlWith(path, query, { [parameter]: answer.next_cursor })}>Next page</a>
            )}
          </p>
          {answer.data.length === 0 && cursor === '' ? null : (
            <ListExport name={props.name} input={props.input} caption={props.caption} />
          )}
        </>
      )}
    </KnownAnswer>
  );
}
