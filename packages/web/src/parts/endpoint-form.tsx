import type { WebhookEndpoint, webhookEndpointWithSecrets } from '@gatehouse/contract/webhook-endpoints';
import type { ComponentChildren } from 'preact';
import type { z } from 'zod';
import { useAnswer } from '../api/use-answer.ts';
import { changesOf } from '../format/changes.ts';
import { may } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';
import { ActionForm } from './action-form.tsx';
import { AgentChoice } from './agent-choice.tsx';
import {
  encodings,
  endpointBody,
  endpointDraft,
  isSecretTheirs,
  newEndpoint,
  schemes,
  templates,
  type EndpointDraft,
} from './endpoint-draft.ts';
import { Choice, LinesField, LongTextField, TextField } from './fields.tsx';
import { useFields } from './use-fields.ts';

const modes = { sync: 'Synchronous: in the response', async: 'Asynchronous: to a callback URL' };

/** A new endpoint with its secrets. */
export type CreatedEndpoint = z.output<typeof webhookEndpointWithSecrets>;

type Fields = ReturnType<typeof useFields<EndpointDraft>>;

/** Creates an address at which a system asks an agent. */
export function NewEndpointForm({ onCreated }: { onCreated: (created: CreatedEndpoint) => void }) {
  const fields = useFields(newEndpoint);
  const { values, field } = fields;
  const { scheme, secret } = values;
  const isTheirs = isSecretTheirs(scheme);
  return (
    <ActionForm
      label="Create"
      name="POST /v1/webhooks/endpoints"
      input={() => ({ body: { ...endpointBody(values), scheme, ...(secret !== '' && { secret }) } })}
      onDone={onCreated}
      isIncomplete={values.agent_id === ''}
    >
      <EndpointFields fields={fields}>
        <Choice label="Authentication" {...field('scheme')} options={schemes} />
        {scheme === 'hmac' ? <HmacFields fields={fields} /> : null}
        <TextField
          label="Secret"
          {...field('secret')}
          maxLength={256}
          isRequired={isTheirs}
          hint={isTheirs ? 'The secret that the sender shows' : 'Empty: generated'}
        />
      </EndpointFields>
    </ActionForm>
  );
}

interface EndpointFormProps {
  endpoint: WebhookEndpoint;
  onDone: () => void;
}

/** Changes an endpoint. Its authentication stays: another one is another endpoint. */
export function EndpointForm({ endpoint, onDone }: EndpointFormProps) {
  const before = endpointDraft(endpoint);
  const fields = useFields(before);
  const { id } = endpoint;
  const input = () => ({
    params: { id },
    body: changesOf(endpointBody(before), endpointBody(fields.values)),
  });
  return (
    <ActionForm label="Save" name="PATCH /v1/webhooks/endpoints/{id}" input={input} onDone={onDone}>
      <EndpointFields fields={fields}>
        {endpoint.scheme === 'hmac' ? <HmacFields fields={fields} /> : null}
      </EndpointFields>
    </ActionForm>
  );
}

function EndpointFields({ fields, children }: { fields: Fields; children: ComponentChildren }) {
  const { values, field } = fields;
  const { onChange: setTemplate, value: template } = field('template');
  return (
    <>
      <TextField label="Name" {...field('name')} isRequired />
      <AgentChoice {...field('agent_id')} />
      {children}
      <Choice label="Template" value={template} onChange={setTemplate} options={templates} />
      {template === 'own' ? (
        <LongTextField label="Liquid template" {...field('liquid')} param="template" rows={6} isRequired />
      ) : null}
      <Choice label="Response mode" {...field('mode')} options={modes} />
      {values.mode === 'async' ? (
        <TextField
          label="Callback URL"
          {...field('callback_url')}
          maxLength={2_000}
          hint="Empty: results are only in the list of calls"
        />
      ) : null}
      <DeliveryFields fields={fields} />
      <TextField
        label="Deliveries per minute"
        {...field('rate_limit_per_minute')}
        isNumber="whole"
        hint="Empty: no limit of its own"
      />
      <LinesField
        label="Allowed networks"
        {...field('allowed_cidrs')}
        hint="One per line in CIDR notation, such as 192.0.2.0/24. Empty: any"
      />
    </>
  );
}

/** The conversation for answers. */
function DeliveryFields({ fields: { values, field } }: { fields: Fields }) {
  const mayList = may(usePerson(), { scope: 'channels.read' });
  const known = useAnswer('GET /v1/channels/instances', mayList ? { query: { limit: '100' } } : null);
  const channels = Object.fromEntries((known.answer?.data ?? []).map(({ id, name }) => [id, name]));
  const { channel } = values;
  return (
    <>
      <Choice
        label="Send answers to a channel"
        {...field('channel')}
        param="deliver_to.channel_instance_id"
        options={{ '': 'No channel', ...(channel !== '' && { [channel]: channel }), ...channels }}
      />
      {channel === '' ? null : (
        <TextField
          label="Conversation"
          {...field('conversation')}
          param="deliver_to.conversation"
          isRequired
          maxLength={255}
          hint="The ID of a Slack channel or Telegram chat, or a conversation_id"
        />
      )}
    </>
  );
}

function HmacFields({ fields: { field } }: { fields: Fields }) {
  return (
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
  );
}
