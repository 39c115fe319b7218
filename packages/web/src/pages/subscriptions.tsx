import type { WebhookSubscription } from '@gatehouse/contract/webhook-subscriptions';
import { useState } from 'preact/hooks';
import { ActionButton } from '../parts/action-button.tsx';
import { Creation } from '../parts/creation.tsx';
import { EnabledButtons } from '../parts/enabled-buttons.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { NewSecret } from '../parts/new-secret.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { RotateButton } from '../parts/rotate-button.tsx';
import { Status } from '../parts/status.tsx';
import { NewSubscriptionForm, SubscriptionForm, type SubscriptionPath } from '../parts/subscription-form.tsx';
import { Time } from '../parts/time.tsx';

/** URLs for events of the tenant. */
export function Subscriptions() {
  return <SubscriptionPage path="/v1/webhooks/subscriptions" />;
}

/** URLs for events of the platform. */
export function OwnerSubscriptions() {
  return <SubscriptionPage path="/internal/v1/owner/webhook-subscriptions" />;
}

function SubscriptionPage({ path }: { path: SubscriptionPath }) {
  return (
    <Creation
      label="Subscribe"
      title="Subscribe to events"
      createdTitle="The new subscription"
      form={(onCreated) => <NewSubscriptionForm path={path} onCreated={onCreated} />}
      showMade={(secret, close) => <NewSubscription secret={secret} close={close} />}
    >
      {(_show, round) => <SubscriptionList key={round} path={path} />}
    </Creation>
  );
}

function NewSubscription({ secret, close }: { secret: string; close: () => void }) {
  return (
    <>
      <NewSecret label="Signing secret." secret={secret} />
      <p>
        Give it to the receiver, which verifies events with it as Standard Webhooks. Then choose Test in the
        list to send it an event.
      </p>
      <p class="actions">
        <button type="button" onClick={close}>
          I have stored it
        </button>
      </p>
    </>
  );
}

function SubscriptionList({ path }: { path: SubscriptionPath }) {
  const [status, setStatus] = useState('');
  return (
    <>
      <p role="status">{status}</p>
      <ResourceList
        name={`GET ${path}`}
        input={{}}
        caption="Subscriptions"
        columns={(reload) => [
          { header: 'URL', cell: ({ url }) => url },
          { header: 'Status', cell: ({ enabled }) => <Status state={enabled ? 'enabled' : 'disabled'} /> },
          { header: 'Event types', cell: ({ event_types: types }) => types.join(', ') },
          { header: 'Last delivery', cell: ({ last_delivery: last }) => <LastDelivery last={last} /> },
          {
            header: 'Actions',
            cell: (subscription) => (
              <SubscriptionButtons
                {...{ path, subscription }}
                onTested={() => {
                  setStatus(`A test event was sent to ${subscription.url}.`);
                  reload();
                }}
                onDone={reload}
              />
            ),
          },
        ]}
        keyOf={({ id }) => id}
        empty="There is no subscription yet. Subscribe a URL to events such as spent budgets and failed runs."
      />
    </>
  );
}

function LastDelivery({ last }: { last: WebhookSubscription['last_delivery'] }) {
  if (last === null) return <>–</>;
  return (
    <>
      <Status state={last.status} /> <Time at={last.at} />
    </>
  );
}

interface SubscriptionButtonsProps {
  path: SubscriptionPath;
  subscription: WebhookSubscription;
  onTested: () => void;
  onDone: () => void;
}

function SubscriptionButtons({ path, subscription, onTested, onDone }: SubscriptionButtonsProps) {
  const { id, url, enabled } = subscription;
  return (
    <span class="actions">
      <ActionButton
        label="Test"
        subject={url}
        name={`POST ${path}/{id}/test`}
        input={{ params: { id }, body: {} }}
        onDone={onTested}
      />
      <FormButton label="Edit" subject={url} onDone={onDone}>
        {(done) => <SubscriptionForm {...{ path, subscription }} onDone={done} />}
      </FormButton>
      <RotateButton
        label="Rotate"
        subject={`signing secret of ${url}`}
        name={`PATCH ${path}/{id}`}
        input={(secret, overlap) => ({ params: { id }, body: { secret, overlap_seconds: overlap } })}
        onDone={onDone}
      />
      <EnabledButtons
        path={`${path}/{id}`}
        {...{ id, enabled }}
        subject={url}
        effect="The URL gets no more events."
        onDone={onDone}
      />
    </span>
  );
}
