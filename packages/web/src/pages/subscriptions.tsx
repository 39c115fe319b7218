import { useState } from 'preact/hooks';
import { ActionButton } from '../parts/action-button.tsx';
import { ConfirmedButton } from '../parts/confirmed-button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { NewSubscriptionForm } from '../parts/new-subscription-form.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { ShownSecret } from '../parts/shown-secret.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';

/** Addresses that get events of the tenant. */
export function Subscriptions() {
  const [isNew, setNew] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const [round, setRound] = useState(0);
  return (
    <>
      <p class="actions">
        <button type="button" class="primary" onClick={() => setNew(true)}>
          Subscribe
        </button>
      </p>
      {isNew ? (
        <Dialog title="Subscribe to events" onClose={() => setNew(false)}>
          <NewSubscriptionForm
            onCreated={(made) => {
              setNew(false);
              setSecret(made);
              setRound(round + 1);
            }}
          />
        </Dialog>
      ) : null}
      {secret === null ? null : (
        <Dialog title="The new subscription" onClose={() => setSecret(null)}>
          <ShownSecret label="Secret that signs the events." secret={secret} />
        </Dialog>
      )}
      <SubscriptionList key={round} />
    </>
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
          { header: 'Address', cell: ({ url }) => url },
          { header: 'Status', cell: ({ enabled }) => <Status of={enabled ? 'enabled' : 'disabled'} /> },
          { header: 'Events', cell: ({ event_types: types }) => types.join(', ') },
          {
            header: 'Last delivery',
            cell: ({ last_delivery: last }) =>
              last === null ? (
                '–'
              ) : (
                <>
                  <Status of={last.status} /> <Time at={last.at} />
                </>
              ),
          },
          {
            header: 'Change',
            cell: ({ id, url, enabled }) => (
              <span class="actions">
                <ActionButton
                  label="Test"
                  of={url}
                  name="POST /v1/webhooks/subscriptions/{id}/test"
                  input={{ params: { id }, body: {} }}
                  onDone={() => {
                    setTested(`A test event is on its way to ${url}.`);
                    reload();
                  }}
                />
                <ActionButton
                  label={enabled ? 'Disable' : 'Enable'}
                  of={url}
                  name="PATCH /v1/webhooks/subscriptions/{id}"
                  input={{ params: { id }, body: { enabled: !enabled } }}
                  onDone={reload}
                />
                <ConfirmedButton
                  label="Delete"
                  of={url}
                  name="DELETE /v1/webhooks/subscriptions/{id}"
                  input={{ params: { id } }}
                  onDone={reload}
                >
                  The address gets no more events.
                </ConfirmedButton>
              </span>
            ),
          },
        ]}
        keyOf={({ id }) => id}
        empty="There is no subscription yet. Subscribe an address to hear of spent budgets and failed runs."
      />
    </>
  );
}
