import type { WebhookEndpoint, WebhookScheme } from '@gatehouse/contract/webhook-endpoints';
import { pastedAddress } from '../format/addresses.ts';
import { deliveryOf } from '../format/snippets.ts';
import { AddressToPaste } from './address-to-paste.tsx';
import type { CreatedEndpoint } from './endpoint-form.tsx';
import { NewSecret, Snippet } from './new-secret.tsx';

/** The place of URL and secret at each kind of sender. */
const places: Record<WebhookScheme, string> = {
  standard: 'Give the URL and the secret to the sender, which signs as Standard Webhooks do.',
  github: 'In the repository: Settings, Webhooks, Add webhook. The content type is application/json.',
  stripe: 'In the dashboard: Developers, Webhooks, Add endpoint. Stripe shows the secret.',
  slack: 'In the app: Event Subscriptions or Slash Commands, with the URL as the request URL.',
  grafana: 'Alerting, Contact points, type Webhook. The secret goes to HMAC Signature.',
  pagerduty: 'Integrations, Generic Webhooks (v3). PagerDuty shows the secret.',
  sentry: 'Settings, Developer Settings, an internal integration with the URL as webhook URL.',
  hmac: 'Give the URL to the sender, which signs the body with the secret.',
  token: 'Give the URL to the sender, with the header “Authorization: Bearer SECRET”.',
};

interface NextStepsProps {
  endpoint: Pick<WebhookEndpoint, 'id' | 'url' | 'scheme' | 'header' | 'encoding' | 'prefix'>;
  secret?: string;
}

/** The address of an endpoint, its place at the sender, and a line to try it. */
export function EndpointNextSteps({ endpoint, secret = 'SECRET' }: NextStepsProps) {
  return (
    <>
      <AddressToPaste label="URL for the sender" url={endpoint.url} />
      <p>{places[endpoint.scheme]}</p>
      <p>
        <strong>Try it</strong> with a signed delivery:
      </p>
      <Snippet
        label="A delivery"
        text={deliveryOf({ ...endpoint, url: pastedAddress(endpoint.url) }, secret)}
      />
    </>
  );
}

/** A new endpoint: its secrets, and the next steps. */
export function EndpointCreated({ created, close }: { created: CreatedEndpoint; close: () => void }) {
  return (
    <>
      <NewSecret label="Secret of the sender." secret={created.secret} />
      <NewSecret label="Signing secret of results." secret={created.callback_secret} />
      <EndpointNextSteps endpoint={created} secret={created.secret} />
      <p class="actions">
        <button type="button" onClick={close}>
          I have stored them
        </button>
      </p>
    </>
  );
}
