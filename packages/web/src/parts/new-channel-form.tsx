import type { ChannelType } from '@gatehouse/contract/channel-instances';
import { useState } from 'preact/hooks';
import { ActionForm } from './action-form.tsx';
import { AgentChoice } from './agent-choice.tsx';
import { Choice, TextField } from './fields.tsx';
import { useFields } from './use-fields.ts';

const types: Record<ChannelType, string> = {
  generic: 'Generic webhook',
  telegram: 'Telegram',
  slack: 'Slack',
  zalo_oa: 'Zalo Official Account',
};

interface ChannelField {
  label: string;
  hint?: string;
  isOptional?: true;
}
type Members = Readonly<Record<string, ChannelField>>;

/** The members of each type. */
const members: Record<ChannelType, { config: Members; credentials: Members }> = {
  generic: {
    config: { callback_url: { label: 'Callback URL' } },
    credentials: { secret: { label: 'Secret', hint: 'Empty: generated', isOptional: true } },
  },
  telegram: {
    config: {},
    credentials: {
      bot_token: { label: 'Bot token', hint: 'From @BotFather' },
      secret_token: { label: 'Secret token', hint: 'The secret_token of setWebhook' },
    },
  },
  slack: {
    config: {},
    credentials: {
      bot_token: { label: 'Bot token', hint: 'xoxb-…' },
      signing_secret: { label: 'Signing secret', hint: 'Under Basic Information of the app' },
    },
  },
  zalo_oa: {
    config: {
      app_id: { label: 'App ID' },
      oa_id: { label: 'OA ID', hint: 'Empty: set by the first consent', isOptional: true },
    },
    credentials: {
      app_secret: { label: 'App secret key' },
      oa_secret: { label: 'OA secret key', hint: 'Under Webhook' },
    },
  },
};

/** Creates a channel by which people write to an agent. */
export function NewChannelForm({ onCreated }: { onCreated: (secret: string | null) => void }) {
  const { values, field } = useFields({ name: '', agent: '', type: 'generic' as ChannelType });
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const { config, credentials } = members[values.type];
  const filled = (fields: Members): Record<string, string> =>
    Object.fromEntries(
      Object.keys(fields).flatMap((member) => {
        const text = texts[member] ?? '';
        return text === '' ? [] : [[member, text]];
      }),
    );
  const input = () => ({
    body: {
      ...{ type: values.type, name: values.name, agent_id: values.agent },
      ...{ config: filled(config), credentials: filled(credentials) },
    },
  });
  return (
    <ActionForm
      label="Create"
      name="POST /v1/channels/instances"
      input={input}
      onDone={({ secret }) => onCreated(secret ?? null)}
      isIncomplete={values.agent === ''}
    >
      <TextField label="Name" {...field('name')} isRequired />
      <AgentChoice {...field('agent')} />
      <Choice label="Type" {...field('type')} options={types} />
      {Object.entries({ ...config, ...credentials }).map(([member, { isOptional, ...texted }]) => (
        <TextField
          key={member}
          {...texted}
          value={texts[member] ?? ''}
          onChange={(text) => setTexts({ ...texts, [member]: text })}
          maxLength={2_000}
          isRequired={isOptional !== true}
        />
      ))}
    </ActionForm>
  );
}
