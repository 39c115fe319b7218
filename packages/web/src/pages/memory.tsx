import type { Passage } from '@gatehouse/contract/memory';
import { useState } from 'preact/hooks';
import { useAnswer } from '../api/use-answer.ts';
import { count } from '../format/amounts.ts';
import { ActionForm } from '../parts/action-form.tsx';
import { AgentLink } from '../parts/agent-link.tsx';
import { figureColumn, textColumn } from '../parts/columns.tsx';
import { ConfirmedButton } from '../parts/confirmed-button.tsx';
import { Creation } from '../parts/creation.tsx';
import { DocumentForm, StoredDocument } from '../parts/document-form.tsx';
import { TextField } from '../parts/fields.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { DataTable, type DataColumn } from '../parts/data-table.tsx';
import { MemoryTransfer } from '../parts/memory-transfer.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Section } from '../parts/section.tsx';
import { Time } from '../parts/time.tsx';
import { may, writtenScope } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';
import { useParameter } from '../shell/location.tsx';
import type { PageProps } from './page.ts';

/** The memory of one agent: a search as its turns make it, and its documents. */
export function Memory({ id }: PageProps) {
  return (
    <>
      <AgentLink id={id} />
      <Search agentID={id} />
      <Section title="Documents">
        <WritableDocuments agentID={id} />
      </Section>
    </>
  );
}

/** The documents, with a button to store one for those who may. */
function WritableDocuments({ agentID }: { agentID: string }) {
  if (writtenScope(usePerson()) === null) return <Documents agentID={agentID} />;
  return (
    <Creation
      label="Store a document"
      title="Store a document"
      form={(onCreated) => <DocumentForm agentID={agentID} document={null} onDone={() => onCreated(null)} />}
    >
      {(_show, round) => <Documents key={round} agentID={agentID} />}
    </Creation>
  );
}

function Search({ agentID }: { agentID: string }) {
  const [query, setQuery] = useState('');
  const [results, setFound] = useState<readonly Passage[] | null>(null);
  return (
    <>
      <ActionForm
        label="Search"
        name="POST /v1/agents/{agentID}/memory/search"
        input={() => ({ params: { agentID }, body: { query } })}
        onDone={(answer) => setFound(answer.results)}
        isIncomplete={query.trim() === ''}
      >
        <TextField
          label="Question"
          value={query}
          onChange={setQuery}
          maxLength={2_000}
          hint="Searches as the agent does in a turn"
        />
      </ActionForm>
      {results === null ? null : (
        <DataTable
          caption="Passages, best first"
          file="passages.csv"
          columns={passages}
          rows={results}
          keyOf={({ document_id: document, start_line: start }) => `${document}:${start}`}
          empty="Nothing fits. Store a document that has the answer."
        />
      )}
    </>
  );
}

const passages: readonly DataColumn<Passage>[] = [
  { ...figureColumn('Score', ({ score }: Passage) => score), cell: ({ score }) => score.toFixed(2) },
  textColumn('Source', ({ path, start_line: start, end_line: end }) => `${path}, lines ${start} to ${end}`),
  {
    ...textColumn('Scope', ({ scope }: Passage) => scope),
    value: ({ scope }) => scope,
  },
  { header: 'Text', cell: ({ text }) => text, value: ({ text }) => text },
];

function Documents({ agentID }: { agentID: string }) {
  const [prefix] = useParameter('path_prefix');
  const stats = useAnswer('GET /v1/agents/{agentID}/memory/stats', { params: { agentID } });
  // Export, import and forget concern the memory of all users.
  const person = usePerson();
  const mayChangeAll = may(person, { scope: 'agents.write' });
  const scopeToWrite = writtenScope(person);
  const [round, setRound] = useState(0);
  const changed = (): void => {
    setRound(round + 1);
    stats.reload();
  };
  return (
    <>
      <KnownAnswer known={stats}>
        {({ documents, chunks, bytes, pending_embeddings: pending }) => (
          <p class="faint">
            {`Documents: ${count(documents)} · passages: ${count(chunks)} · bytes: ${count(bytes)} · waiting for an embedding: ${count(pending)}`}
          </p>
        )}
      </KnownAnswer>
      {mayChangeAll ? <MemoryTransfer agentID={agentID} onDone={changed} /> : null}
      <div class="choices">
        <FilterField label="Path prefix" name="path_prefix" />
      </div>
      <ResourceList
        key={round}
        name="GET /v1/agents/{agentID}/memory/documents"
        input={{ params: { agentID }, query: { path_prefix: prefix } }}
        caption="Documents"
        columns={(reload) => [
          { header: 'Path', cell: ({ path }) => <code>{path}</code> },
          { header: 'Title', cell: ({ title }) => title ?? '' },
          { header: 'User', cell: ({ user_id: user }) => user ?? 'all' },
          { header: 'Source', cell: ({ source }) => source.kind },
          { header: 'Passages', cell: ({ chunks }) => count(chunks), isNumber: true },
          { header: 'Bytes', cell: ({ bytes }) => count(bytes), isNumber: true },
          { header: 'Updated', cell: ({ updated_at: at }) => <Time at={at} /> },
          {
            header: 'Actions',
            cell: ({ id, path, scope }) => (
              <span class="actions">
                <FormButton label="Open" subject={path} onDone={changed}>
                  {(done) => <StoredDocument agentID={agentID} listed={{ id, path }} onDone={done} />}
                </FormButton>
                {scope === scopeToWrite ? (
                  <ConfirmedButton
                    label="Delete"
                    subject={path}
                    name="DELETE /v1/agents/{agentID}/memory/documents/{path+}"
                    input={{ params: { agentID, path } }}
                    onDone={() => {
                      reload();
                      stats.reload();
                    }}
                  >
                    The agent no longer finds it.
                  </ConfirmedButton>
                ) : null}
              </span>
            ),
          },
        ]}
        keyOf={({ id }) => id}
        empty="The memory has no document here. Store one, or let the agent keep finished turns."
      />
    </>
  );
}
