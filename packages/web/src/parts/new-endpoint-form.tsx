import type { WebhookScheme } from '@gatehouse/contract/webhook-endpoints';
import { ActionForm } from './action-form.tsx';
import { AgentChoice } from './agent-choice.tsx';
import { Choice, LongTextField, TextField } from './fields.tsx';
import { useFields } from './use-fields.ts';

const schemes: Record<WebhookScheme, string> = {
  standard: 'Standard Webhooks',
  github: 'GitHub',
  stripe: 'Stripe',
  slack: 'Slack',
  grafana: 'Grafana',
  pagerduty: 'PagerDuty',
  sentry: 'Sentry',
  hmac: 'HMAC-SHA-256 header',
  token: 'Bearer token',
};
/** Senders with a secret made by themselves. */
const theirs: readonly string[] = [
  'stripe',
  'slack',
  'pagerduty',
  'sentry',
  'hmac',
] satisfies WebhookScheme[];

const templates = {
  '': 'None: the body has "input"',
  ...{ alertmanager: 'Alertmanager', grafana: 'Grafana', github: 'GitHub', gitlab: 'GitLab' },
  ...{ pagerduty: 'PagerDuty', sentry: 'Sentry', own: 'Custom' },
};

const encodings = { hex: 'Hexadecimal', base64: 'Base64' };

const modes = { sync: 'Synchronous: in the response', async: 'Asynchronous: to a callback URL' };

/** The secrets of an endpoint. */
export interface EndpointSecrets {
  secret: string;
  callback_secret: string;
}

const initial = {
  ...{ name: '', agent: '', secret: '', template: '', liquid: '', callback: '' },
  ...{ header: '', encoding: 'hex' as keyof typeof encodings, prefix: '' },
  ...{ scheme: 'standard' as WebhookScheme, mode: 'sync' as keyof typeof modes },
};

/** Creates an address at which a system asks an agent. */
export function NewEndpointForm({ onCreated }: { onCreated: (made: EndpointSecrets) => void }) {
  const { values, field } = useFields(initial);
  const { name, agent, scheme, secret, template, liquid, mode, callback } = values;
  const { header, encoding, prefix } = values;
  const prompt = template === 'own' ? liquid : template;
  const isTheirs = theirs.includes(scheme);
  const input = () => ({
    body: {
      ...{ name, agent_id: agent, scheme },
      ...(secret !== '' && { secret }),
      ...(scheme === 'hmac' && { header, encoding, prefix }),
      ...(prompt !== '' && { template: prompt }),
      ...(mode === 'async' && { mode, callback_url: callback === '' ? null : callback }),
    },
  });
  return (
    <ActionForm
      label="Create"
      name="POST /v1/webhooks/endpoints"
      input={input}
      onDone={onCreated}
      isIncomplete={agent === ''}
    >
      <TextField label="Name" {...field('name')} isRequired />
      <AgentChoice {...field('agent')} />
      <Choice label="Authentication" {...field('scheme')} options={schemes} />
      {scheme === 'hmac' ? (
        <>
          <TextField
            label="Header"
            {...field('header')}
            maxLength={64}
            hint="The header with the signature"
            isRequired
          />
          <Choice label="Encoding" {...field('encoding')} options={encodings} />
          <TextField
            label="Prefix"
            {...field('prefix')}
            maxLength={64}
            hint="Before the signature, such as sha256="
          />
        </>
      ) : null}
      <TextField
        label="Secret"
        {...field('secret')}
        maxLength={256}
        isRequired={isTheirs}
        hint={isTheirs ? 'The secret that the sender shows' : 'Empty: generated'}
      />
      <Choice label="Template" {...field('template')} options={templates} />
      {template === 'own' ? (
        <LongTextField label="Liquid template" {...field('liquid')} rows={6} isRequired />
      ) : null}
      <Choice label="Response mode" {...field('mode')} options={modes} />
      {mode === 'async' ? (
        <TextField
          label="Callback URL"
          {...field('callback')}
          maxLength={2_000}
          hint="Empty: results are only in the list of calls"
        />
      ) : null}
    </ActionForm>
  );
}
