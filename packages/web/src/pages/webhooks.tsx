import { ResourceList } from '../parts/resource-list.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';

/** The endpoints at which senders of webhooks ask agents. */
export function Webhooks() {
  return (
    <ResourceList
      name="GET /v1/webhooks/endpoints"
      input={{}}
      caption="Webhook endpoints"
      columns={() => [
        { header: 'Name', cell: ({ id, name }) => <a href={`/app/webhooks/${id}`}>{name}</a> },
        { header: 'Status', cell: ({ enabled }) => <Status of={enabled ? 'enabled' : 'disabled'} /> },
        { header: 'Scheme', cell: ({ scheme }) => scheme },
        { header: 'Mode', cell: ({ mode }) => mode },
        { header: 'Agent', cell: ({ agent_id: agent }) => <a href={`/app/agents/${agent}`}>{agent}</a> },
        { header: 'Results go to', cell: ({ callback_url: url }) => url ?? '–' },
        { header: 'Changed', cell: ({ updated_at: at }) => <Time at={at} /> },
      ]}
      keyOf={({ id }) => id}
      empty="There is no endpoint yet. Create one with POST /v1/webhooks/endpoints."
    />
  );
}
