import type { ChannelType } from '@gatehouse/contract/channel-instances';
import { useState } from 'preact/hooks';
import { useAction } from '../api/use-action.ts';
import { ActionForm } from './action-form.tsx';
import { AgentChoice } from './agent-choice.tsx';
import { Choice, TextField } from './fields.tsx';

const types: Record<ChannelType, string> = {
  generic: 'a system of your own',
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

/** The members that each type asks for. */
const members: Record<ChannelType, { config: Members; credentials: Members }> = {
  generic: {
    config: { callback_url: { label: 'Replies go to' } },
    credentials: { secret: { label: 'Secret', hint: 'Empty: one is made', isOptional: true } },
  },
  telegram: {
    config: {},
    credentials: {
      bot_token: { label: 'Token of the bot', hint: 'From @BotFather' },
      secret_token: { label: 'Secret token', hint: 'The one that setWebhook was given' },
    },
  },
  slack: {
    config: {},
    credentials: {
      bot_token: { label: 'Token of the bot', hint: 'xoxb-…' },
      signing_secret: { label: 'Signing secret', hint: 'Under Basic Information of the app' },
    },
  },
  zalo_oa: {
    config: {
      app_id: { label: 'Id of the app' },
      oa_id: { label: 'Id of the account', hint: 'Empty: by the first consent', isOptional: true },
    },
    credentials: {
      app_secret: { label: 'Secret key of the app' },
      oa_secret: { label: 'OA secret key', hint: 'Under Webhook' },
    },
  },
};

/** Creates a channel by which people write to an agent. */
export function NewChannelForm({ onCreated }: { onCreated: (secret: string | null) => void }) {
  const [name, setName] = useState('');
  const [agent, setAgent] = useState('');
  const [type, setType] = useState<ChannelType>('generic');
  const [values, setGiven] = useState<Readonly<Record<string, string>>>({});
  const create = useAction('POST /v1/channels/instances');
  const { config, credentials } = members[type];
  const filled = (fields: Members): Record<string, string> =>
    Object.fromEntries(
      Object.keys(fields).flatMap((member) => {
        const value = values[member] ?? '';
        return value === '' ? [] : [[member, value]];
      }),
    );
  const submit = async (): Promise<void> => {
    const made = await create.run({
      body: { type, name, agent_id: agent, config: filled(config), credentials: filled(credentials) },
    });
    if (made !== null) onCreated(made.secret ?? null);
  };
  return (
    <ActionForm label="Create" action={create} submit={submit} isIncomplete={agent === ''}>
      <TextField label="Name" value={name} onChange={setName} isRequired />
      <AgentChoice value={agent} onChange={setAgent} />
      <Choice
        label="People write by"
        value={type}
        onChange={(chosen) => setType(chosen as ChannelType)}
        options={types}
      />
      {Object.entries({ ...config, ...credentials }).map(([member, { label, hint, isOptional }]) => (
        <TextField
          key={member}
          label={label}
          value={values[member] ?? ''}
          onChange={(value) => setGiven({ ...values, [member]: value })}
          maxLength={2_000}
          {...(isOptional !== true && { isRequired: true })}
          {...(hint !== undefined && { hint })}
        />
      ))}
    </ActionForm>
  );
}
