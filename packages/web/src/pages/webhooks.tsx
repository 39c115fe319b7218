import { useNames } from '../api/use-names.ts';
import { Creation } from '../parts/creation.tsx';
import { EnabledButtons } from '../parts/enabled-buttons.tsx';
import { NewEndpointForm, type EndpointSecrets } from '../parts/new-endpoint-form.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Name } from '../parts/name.tsx';
import { NewSecret } from '../parts/new-secret.tsx';
import { Status } from '../parts/status.tsx';

/** The endpoints at which senders of webhooks ask agents. */
export function Webhooks() {
  return (
    <Creation<EndpointSecrets>
      label="Create an endpoint"
      title="Create a webhook endpoint"
      createdTitle="The new endpoint"
      form={(onCreated) => <NewEndpointForm onCreated={onCreated} />}
      showMade={({ secret, callback_secret: callback }) => (
        <>
          <NewSecret label="Secret of the sender." secret={secret} />
          <NewSecret label="Signing secret of results." secret={callback} />
        </>
      )}
    >
      {(_show, round) => <EndpointList key={round} />}
    </Creation>
  );
}

function EndpointList() {
  const agents = useNames('agent');
  return (
    <ResourceList
      name="GET /v1/webhooks/endpoints"
      input={{}}
      caption="Webhook endpoints"
      columns={(reload) => [
        { header: 'Name', cell: ({ id, name }) => <a href={`/app/webhooks/${id}`}>{name}</a> },
        { header: 'Status', cell: ({ enabled }) => <Status state={enabled ? 'enabled' : 'disabled'} /> },
        { header: 'Authentication', cell: ({ scheme }) => scheme },
        {
          header: 'URL',
          cell: ({ id }) => <code>{`${location.origin}/v1/webhooks/llm?endpoint=${id}`}</code>,
        },
        {
          header: 'Agent',
          cell: ({ agent_id: id }) => <Name id={id} name={agents.get(id)} href={`/app/agents/${id}`} />,
        },
        {
          header: 'Response',
          cell: ({ mode, callback_url: url }) => (mode === 'sync' ? 'the sender' : (url ?? 'its calls')),
        },
        {
          header: 'Actions',
          cell: ({ id, name, enabled }) => (
            <span class="actions">
              <EnabledButtons
                path="/v1/webhooks/endpoints/{id}"
                {...{ id, enabled }}
                subject={name}
                effect="Its senders get 404 from now on, and its calls are gone."
                onDone={reload}
              />
            </span>
          ),
        },
      ]}
      keyOf={({ id }) => id}
      empty="There is no endpoint yet. Create one, and give its URL and secret to an alerting or CI system."
    />
  );
}
