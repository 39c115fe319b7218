import { Choice } from '../parts/fields.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';
import { useParameter } from '../shell/location.tsx';

const statuses = { '': 'any', active: 'active', disabled: 'disabled' };

/** The agents of the tenant. */
export function Agents() {
  const [q] = useParameter('q');
  const [status, setStatus] = useParameter('status');
  return (
    <>
      <p class="actions page-actions">
        <a class="button primary" href="/app/agents/new">
          Create an agent
        </a>
      </p>
      <div class="choices">
        <FilterField label="Search" name="q" />
        <Choice label="Status" value={status} onChange={setStatus} options={statuses} />
      </div>
      <ResourceList
        name="GET /v1/agents"
        input={{ query: { q, status } }}
        caption="Agents"
        columns={() => [
          { header: 'Name', cell: ({ id, name }) => <a href={`/app/agents/${id}`}>{name}</a> },
          { header: 'Key', cell: ({ key }) => <code>{`agent:${key}`}</code> },
          { header: 'Model', cell: ({ model }) => model },
          { header: 'Status', cell: ({ status: state }) => <Status state={state} /> },
          { header: 'Visibility', cell: ({ visibility }) => visibility },
          { header: 'Updated', cell: ({ updated_at: at }) => <Time at={at} /> },
          {
            header: 'Playground',
            cell: ({ key, name }) => (
              <a href={`/app/playground?model=agent:${key}`} aria-label={`Try ${name}`}>
                Try
              </a>
            ),
          },
        ]}
        keyOf={({ id }) => id}
        empty="There is no agent yet. Create one: a model with a prompt of its own."
      />
    </>
  );
}
