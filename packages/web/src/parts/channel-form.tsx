import type {
  ChannelInstance,
  channelInstanceWithSecret,
  ChannelType,
} from '@gatehouse/contract/channel-instances';
import { useState } from 'preact/hooks';
import type { z } from 'zod';
import { changesOf, textOrNull } from '../format/changes.ts';
import { ActionForm } from './action-form.tsx';
import { AgentChoice } from './agent-choice.tsx';
import {
  configChanges,
  filled,
  members,
  memberTexts,
  types,
  type Members,
  type MemberTexts,
} from './channel-members.ts';
import { Choice, LongTextField, TextField } from './fields.tsx';
import { OverlapChoice, usualOverlap } from './overlap-choice.tsx';
import { useFields } from './use-fields.ts';

/** A new channel, and the secret of a `generic` one. */
export type CreatedChannel = z.output<typeof channelInstanceWithSecret>;

/** Creates a channel by which people write to an agent. */
export function NewChannelForm({ onCreated }: { onCreated: (created: CreatedChannel) => void }) {
  const { values, field } = useFields({ name: '', agent_id: '', type: 'generic' as ChannelType });
  const [texts, setTexts] = useState<MemberTexts>({});
  const { config, credentials } = members[values.type];
  const input = () => ({
    body: { ...values, config: filled(config, texts), credentials: filled(credentials, texts) },
  });
  return (
    <ActionForm
      label="Create"
      name="POST /v1/channels/instances"
      input={input}
      onDone={onCreated}
      isIncomplete={values.agent_id === ''}
    >
      <TextField label="Name" {...field('name')} isRequired />
      <AgentChoice {...field('agent_id')} />
      <Choice label="Type" {...field('type')} options={types} />
      <MemberFields fields={config} group="config" texts={texts} onChange={setTexts} />
      <MemberFields fields={credentials} group="credentials" texts={texts} onChange={setTexts} />
    </ActionForm>
  );
}

const replies = {
  failure: 'Reply when the agent fails',
  refusal: 'Reply when a limit is reached',
  unsupported: 'Reply to images and files',
} as const;
type Reply = keyof typeof replies;

function draftOf({ name, agent_id, history_tokens, replies: texts }: ChannelInstance) {
  const { failure, refusal, unsupported } = texts;
  return {
    ...{ name, agent_id, history_tokens: String(history_tokens) },
    ...{ failure: failure ?? '', refusal: refusal ?? '', unsupported: unsupported ?? '' },
  };
}

function bodyOf({ name, agent_id, history_tokens, ...texts }: ReturnType<typeof draftOf>) {
  const { failure, refusal, unsupported } = texts;
  return {
    ...{ name, agent_id, history_tokens: Number(history_tokens) },
    replies: {
      failure: textOrNull(failure),
      refusal: textOrNull(refusal),
      unsupported: textOrNull(unsupported),
    },
  };
}

interface ChannelFormProps {
  channel: ChannelInstance;
  onDone: () => void;
}

/** Changes a channel. Its type stays, and so do credentials without a new text. */
export function ChannelForm({ channel, onDone }: ChannelFormProps) {
  const before = draftOf(channel);
  const { values, field } = useFields(before);
  const { config, credentials } = members[channel.type];
  const [texts, setTexts] = useState<MemberTexts>(() => memberTexts(channel.config));
  const [overlap, setOverlap] = useState(usualOverlap);
  const input = () => {
    const changedConfig = configChanges(config, memberTexts(channel.config), texts);
    const secrets = filled(credentials, texts);
    const hasSecrets = Object.keys(secrets).length > 0;
    return {
      params: { id: channel.id },
      body: {
        ...changesOf(bodyOf(before), bodyOf(values)),
        ...(Object.keys(changedConfig).length > 0 && { config: changedConfig }),
        ...(hasSecrets && { credentials: secrets, overlap_seconds: Number(overlap) }),
      },
    };
  };
  return (
    <ActionForm label="Save" name="PATCH /v1/channels/instances/{id}" input={input} onDone={onDone}>
      <TextField label="Name" {...field('name')} isRequired />
      <AgentChoice {...field('agent_id')} />
      <MemberFields fields={config} group="config" texts={texts} onChange={setTexts} />
      <TextField
        label="History in tokens"
        {...field('history_tokens')}
        isRequired
        isNumber="whole"
        hint="Earlier conversation that the agent gets"
      />
      {(Object.entries(replies) as [Reply, string][]).map(([name, label]) => (
        <LongTextField
          key={name}
          label={label}
          rows={2}
          {...field(name)}
          param={`replies.${name}`}
          hint="Empty: nothing is sent"
        />
      ))}
      <MemberFields fields={credentials} group="credentials" texts={texts} onChange={setTexts} isKept />
      <OverlapChoice value={overlap} onChange={setOverlap} />
    </ActionForm>
  );
}

interface MemberFieldsProps {
  fields: Members;
  group: 'config' | 'credentials';
  texts: MemberTexts;
  onChange: (texts: MemberTexts) => void;
  /** Whether an empty field leaves what is stored. */
  isKept?: true;
}

function MemberFields({ fields, group, texts, onChange, isKept }: MemberFieldsProps) {
  return (
    <>
      {Object.entries(fields).map(([member, { isOptional, label, hint }]) => (
        <TextField
          key={member}
          label={label}
          hint={isKept ? 'Empty: unchanged' : hint}
          value={texts[member] ?? ''}
          onChange={(text) => onChange({ ...texts, [member]: text })}
          param={`${group}.${member}`}
          maxLength={2_000}
          isRequired={isOptional !== true && isKept !== true}
        />
      ))}
    </>
  );
}
