import type { Subgraph } from '@gatehouse/contract/graph';
import { useState } from 'preact/hooks';
import { useAnswer } from '../api/use-answer.ts';
import { AgentLink } from '../parts/agent-link.tsx';
import { figureColumn, textColumn, timeColumn } from '../parts/columns.tsx';
import { ConfirmedButton } from '../parts/confirmed-button.tsx';
import { EmptyText } from '../parts/empty-state.tsx';
import { Choice } from '../parts/fields.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { GraphDrawing } from '../parts/graph-drawing.tsx';
import { GraphForms } from '../parts/graph-forms.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { DataTable, type DataColumn } from '../parts/data-table.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { writtenScope } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';
import { urlWith, useParameter, useView } from '../shell/location.tsx';
import type { PageProps } from './page.ts';

const depths = { '': '2 relations', '1': '1 relation', '3': '3 relations' };

/** The knowledge graph of one agent: around an entity, or the list of entities to begin with. */
export function Graph({ id }: PageProps) {
  const [start] = useParameter('start');
  const [depth, setDepth] = useParameter('depth');
  return (
    <>
      <AgentLink id={id} />
      <div class="choices">
        <FilterField label="Start entity" name="start" hint="A name or an ID" />
        <Choice label="Depth" value={depth} onChange={setDepth} options={depths} />
      </div>
      {start === '' ? <Entities agentID={id} /> : <Around agentID={id} start={start} depth={depth} />}
    </>
  );
}

function Entities({ agentID }: { agentID: string }) {
  const [q] = useParameter('q');
  const [type] = useParameter('type');
  const { path, query } = useView();
  const scopeToWrite = writtenScope(usePerson());
  const [round, setRound] = useState(0);
  return (
    <>
      {scopeToWrite !== null ? <GraphForms agentID={agentID} onDone={() => setRound(round + 1)} /> : null}
      <div class="choices">
        <FilterField label="Search" name="q" />
        <FilterField label="Type" name="type" />
      </div>
      <ResourceList
        key={round}
        name="GET /v1/agents/{agentID}/kg/entities"
        input={{ params: { agentID }, query: { q, type } }}
        caption="Entities"
        columns={(reload) => [
          {
            header: 'Name',
            cell: ({ id, name }) => <a href={urlWith(path, query, { start: id, cursor: '' })}>{name}</a>,
          },
          { header: 'Type', cell: ({ type: kind }) => kind },
          { header: 'External ID', cell: ({ external_id: external }) => external ?? '' },
          { header: 'Scope', cell: ({ scope }) => scope },
          { header: 'Description', cell: ({ description }) => description ?? '' },
          {
            header: 'Actions',
            cell: ({ id, name, scope }) =>
              scope === scopeToWrite ? (
                <span class="actions">
                  <ConfirmedButton
                    label="Delete"
                    subject={name}
                    name="DELETE /v1/agents/{agentID}/kg/entities/{id}"
                    input={{ params: { agentID, id } }}
                    onDone={reload}
                  >
                    Its relations are deleted with it.
                  </ConfirmedButton>
                </span>
              ) : null,
          },
        ]}
        keyOf={({ id }) => id}
        empty="The graph has no such entity. Add one, or extract entities from a text."
      />
    </>
  );
}

function Around({ agentID, start, depth }: { agentID: string; start: string; depth: string }) {
  const known = useAnswer('POST /v1/agents/{agentID}/kg/traverse', {
    params: { agentID },
    body: { start: [start], depth: depth === '' ? 2 : Number(depth) },
  });
  return <KnownAnswer known={known}>{(graph) => <Drawn graph={graph} />}</KnownAnswer>;
}

type Relation = Subgraph['edges'][number];

function Drawn({ graph }: { graph: Subgraph }) {
  const { path, query } = useView();
  if (graph.nodes.length === 0) return <EmptyText text="No entity has this name or id." />;
  const names = new Map(graph.nodes.map(({ id, name }) => [id, name]));
  const nameOf = (id: string): string => names.get(id) ?? id;
  const link = (id: string) => <a href={urlWith(path, query, { start: id })}>{nameOf(id)}</a>;
  const columns: readonly DataColumn<Relation>[] = [
    {
      ...textColumn('From', ({ source }: Relation) => nameOf(source)),
      cell: ({ source }) => link(source),
    },
    textColumn('Relation', ({ type }) => type),
    {
      ...textColumn('To', ({ target }: Relation) => nameOf(target)),
      cell: ({ target }) => link(target),
    },
    figureColumn('Weight', ({ weight }) => weight),
    timeColumn('Valid from', ({ valid_from: at }) => at),
    timeColumn('Valid to', ({ valid_to: at }) => at, 'open'),
  ];
  return (
    <>
      {graph.truncated ? <p role="status">There is more than is shown: look at fewer relations.</p> : null}
      <GraphDrawing graph={graph} />
      <DataTable
        caption="Relations"
        file="relations.csv"
        columns={columns}
        rows={graph.edges}
        keyOf={({ id }) => id}
        empty="It has no relation."
      />
    </>
  );
}
