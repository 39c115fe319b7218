import type { WebhookScheme } from '@gatehouse/contract/webhook-endpoints';
import { useState } from 'preact/hooks';
import { useAction } from '../api/use-action.ts';
import { ActionForm } from './action-form.tsx';
import { AgentChoice } from './agent-choice.tsx';
import { Choice, LongTextField, TextField } from './fields.tsx';

const schemes: Record<WebhookScheme, string> = {
  standard: 'Standard Webhooks',
  github: 'GitHub',
  stripe: 'Stripe',
  slack: 'Slack',
  grafana: 'Grafana',
  pagerduty: 'PagerDuty',
  sentry: 'Sentry',
  token: 'a token',
};
/** Senders that make the secret themselves. */
const theirs: readonly string[] = ['stripe', 'slack', 'pagerduty', 'sentry'] satisfies WebhookScheme[];

const templates = {
  '': 'none: the body has "input"',
  ...{ alertmanager: 'Alertmanager', grafana: 'Grafana', github: 'GitHub', gitlab: 'GitLab' },
  ...{ pagerduty: 'PagerDuty', sentry: 'Sentry', own: 'one of your own' },
};

const modes = { sync: 'The sender waits for it', async: 'It goes to an address, later' };

/** The secrets of an endpoint. */
export interface EndpointSecrets {
  secret: string;
  callback_secret: string;
}

/** Creates an address at which a system asks an agent. */
export function NewEndpointForm({ onCreated }: { onCreated: (made: EndpointSecrets) => void }) {
  const [name, setName] = useState('');
  const [agent, setAgent] = useState('');
  const [scheme, setScheme] = useState<string>('standard');
  const [secret, setSecret] = useState('');
  const [template, setTemplate] = useState<string>('');
  const [ownSecret, setOwn] = useState('');
  const [mode, setMode] = useState('sync');
  const [callback, setCallback] = useState('');
  const create = useAction('POST /v1/webhooks/endpoints');
  const prompt = template === 'own' ? ownSecret : template;
  const submit = async (): Promise<void> => {
    const made = await create.run({
      body: {
        ...{ name, agent_id: agent, scheme: scheme as WebhookScheme },
        ...(secret !== '' && { secret }),
        ...(prompt !== '' && { template: prompt }),
        ...(mode === 'async' && { mode, callback_url: callback === '' ? null : callback }),
      },
    });
    if (made !== null) onCreated(made);
  };
  return (
    <ActionForm label="Create" action={create} submit={submit} isIncomplete={agent === ''}>
      <TextField label="Name" value={name} onChange={setName} isRequired />
      <AgentChoice value={agent} onChange={setAgent} />
      <Choice label="Signed by" value={scheme} onChange={setScheme} options={schemes} />
      <TextField
        label="Secret"
        value={secret}
        onChange={setSecret}
        maxLength={256}
        {...(theirs.includes(scheme) && { isRequired: true })}
        hint={theirs.includes(scheme) ? 'The one that the sender shows' : 'Empty: one is made'}
      />
      <Choice label="Prompt made by" value={template} onChange={setTemplate} options={templates} />
      {template === 'own' ? (
        <LongTextField label="Liquid template" value={ownSecret} onChange={setOwn} rows={6} isRequired />
      ) : null}
      <Choice label="Result" value={mode} onChange={setMode} options={modes} />
      {mode === 'async' ? (
        <TextField
          label="Results go to"
          value={callback}
          onChange={setCallback}
          maxLength={2_000}
          hint="Empty: nowhere, look at its calls"
        />
      ) : null}
    </ActionForm>
  );
}
