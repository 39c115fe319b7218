import { useState } from 'preact/hooks';
import { ActionButton } from '../parts/action-button.tsx';
import { Creation } from '../parts/creation.tsx';
import { EnabledButtons } from '../parts/enabled-buttons.tsx';
import { NewSubscriptionForm } from '../parts/new-subscription-form.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { NewSecret } from '../parts/new-secret.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';

/** Addresses for events of the tenant. */
export function Subscriptions() {
  return (
    <Creation
      label="Subscribe"
      title="Subscribe to events"
      createdTitle="The new subscription"
      form={(onCreated) => <NewSubscriptionForm onCreated={onCreated} />}
      showMade={(secret) => <NewSecret label="Signing secret." secret={secret} />}
    >
      {(_show, round) => <SubscriptionList key={round} />}
    </Creation>
  );
}

function SubscriptionList() {
  const [tested, setTested] = useState('');
  return (
    <>
      <p role="status">{tested}</p>
      <ResourceList
        name="GET /v1/webhooks/subscriptions"
        input={{}}
        caption="Subscriptions"
        columns={(reload) => [
          { header: 'URL', cell: ({ url }) => url },
          { header: 'Status', cell: ({ enabled }) => <Status state={enabled ? 'enabled' : 'disabled'} /> },
          { header: 'Event types', cell: ({ event_types: types }) => types.join(', ') },
          {
            header: 'Last delivery',
            cell: ({ last_delivery: last }) =>
              last === null ? (
                '–'
              ) : (
                <>
                  <Status state={last.status} /> <Time at={last.at} />
                </>
              ),
          },
          {
            header: 'Actions',
            cell: ({ id, url, enabled }) => (
              <span class="actions">
                <ActionButton
                  label="Test"
                  subject={url}
                  name="POST /v1/webhooks/subscriptions/{id}/test"
                  input={{ params: { id }, body: {} }}
                  onDone={() => {
                    setTested(`A test event was sent to ${url}.`);
                    reload();
                  }}
                />
                <EnabledButtons
                  path="/v1/webhooks/subscriptions/{id}"
                  {...{ id, enabled }}
                  subject={url}
                  effect="The address gets no more events."
                  onDone={reload}
                />
              </span>
            ),
          },
        ]}
        keyOf={({ id }) => id}
        empty="There is no subscription yet. Subscribe a URL to events such as spent budgets and failed runs."
      />
    </>
  );
}
