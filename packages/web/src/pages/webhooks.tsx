import type { WebhookEndpoint } from '@gatehouse/contract/webhook-endpoints';
import { useNames } from '../api/use-names.ts';
import { pastedAddress } from '../format/addresses.ts';
import { Creation } from '../parts/creation.tsx';
import { EnabledButtons } from '../parts/enabled-buttons.tsx';
import { isSecretTheirs, schemes } from '../parts/endpoint-draft.ts';
import { EndpointForm, NewEndpointForm, type CreatedEndpoint } from '../parts/endpoint-form.tsx';
import { EndpointCreated } from '../parts/endpoint-next-steps.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { CopyButton, Name } from '../parts/name.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { RotateButton } from '../parts/rotate-button.tsx';
import { Status } from '../parts/status.tsx';

/** The endpoints at which senders of webhooks ask agents. */
export function Webhooks() {
  return (
    <Creation<CreatedEndpoint>
      label="Create an endpoint"
      title="Create a webhook endpoint"
      createdTitle="The new endpoint"
      form={(onCreated) => <NewEndpointForm onCreated={onCreated} />}
      showMade={(created, close) => <EndpointCreated created={created} close={close} />}
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
        { header: 'Authentication', cell: ({ scheme }) => schemes[scheme] },
        {
          header: 'URL',
          cell: ({ name, url }) => (
            <span class="name">
              <code>{pastedAddress(url)}</code>
              <CopyButton label={`Copy the URL of ${name}`} text={pastedAddress(url)} />
            </span>
          ),
        },
        {
          header: 'Agent',
          cell: ({ agent_id: id }) => <Name id={id} name={agents.get(id)} href={`/app/agents/${id}`} />,
        },
        {
          header: 'Response',
          cell: ({ mode, callback_url: url }) => (mode === 'sync' ? 'the sender' : (url ?? 'its calls')),
        },
        { header: 'Actions', cell: (endpoint) => <EndpointButtons endpoint={endpoint} onDone={reload} /> },
      ]}
      keyOf={({ id }) => id}
      empty="There is no endpoint yet. Create one, and give its URL and secret to an alerting or CI system."
    />
  );
}

function EndpointButtons({ endpoint, onDone }: { endpoint: WebhookEndpoint; onDone: () => void }) {
  const { id, name, scheme, enabled, mode } = endpoint;
  return (
    <span class="actions">
      <FormButton label="Edit" subject={name} onDone={onDone}>
        {(done) => <EndpointForm endpoint={endpoint} onDone={done} />}
      </FormButton>
      <RotateButton
        label="Rotate"
        subject={`secret of ${name}`}
        name="POST /v1/webhooks/endpoints/{id}/rotate-secret"
        input={(secret, overlap) => ({ params: { id }, body: { secret, overlap_seconds: overlap } })}
        isTheirs={isSecretTheirs(scheme)}
        onDone={onDone}
      />
      {mode === 'async' ? (
        <RotateButton
          label="Rotate results"
          subject={`signing secret of ${name}`}
          name="PATCH /v1/webhooks/endpoints/{id}"
          input={(secret, overlap) => ({
            params: { id },
            body: { callback_secret: secret, overlap_seconds: overlap },
          })}
          onDone={onDone}
        />
      ) : null}
      <EnabledButtons
        path="/v1/webhooks/endpoints/{id}"
        {...{ id, enabled }}
        subject={name}
        effect="Its senders get 404 from now on, and its calls are gone."
        onDone={onDone}
      />
    </span>
  );
}
