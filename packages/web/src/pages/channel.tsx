import { useAnswer } from '../api/use-answer.ts';
import { ChannelNextSteps } from '../parts/channel-next-steps.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';
import { urlWith, useParameter, useView } from '../shell/location.tsx';
import type { PageProps } from './page.ts';

/** One channel: its conversations, the messages of one of them, and its address. */
export function Channel({ id }: PageProps) {
  const channel = useAnswer('GET /v1/channels/instances/{id}', { params: { id } });
  const [conversation] = useParameter('conversation');
  return (
    <>
      {conversation === '' ? <Conversations id={id} /> : <Messages id={id} conversation={conversation} />}
      <h2>Address</h2>
      <KnownAnswer known={channel}>{(known) => <ChannelNextSteps channel={known} />}</KnownAnswer>
    </>
  );
}

function Conversations({ id }: { id: string }) {
  const { path, query } = useView();
  return (
    <ResourceList
      name="GET /v1/channels/instances/{id}/conversations"
      input={{ params: { id } }}
      caption="Conversations, newest first"
      columns={() => [
        {
          header: 'Conversation',
          cell: ({ id: conversation, external_id: external }) => (
            <a href={urlWith(path, query, { conversation, cursor: '' })}>{external}</a>
          ),
        },
        { header: 'User', cell: ({ user_id: user, group }) => (group ? 'a group' : (user ?? '–')) },
        { header: 'Last message', cell: ({ last_message_at: at }) => <Time at={at} /> },
      ]}
      keyOf={({ id: conversation }) => conversation}
      empty="No message has come yet. Follow the steps below, and write to the channel."
    />
  );
}

function Messages({ id, conversation }: { id: string; conversation: string }) {
  const { path, query } = useView();
  return (
    <>
      <p class="actions">
        <a class="button" href={urlWith(path, query, { conversation: '', cursor: '' })}>
          All conversations
        </a>
      </p>
      <ResourceList
        name="GET /v1/channels/instances/{id}/conversations/{conversation_id}/messages"
        input={{ params: { id, conversation_id: conversation } }}
        caption="Messages, newest first"
        columns={() => [
          { header: 'At', cell: ({ created_at: at }) => <Time at={at} /> },
          { header: 'From', cell: ({ direction }) => (direction === 'in' ? 'the user' : 'the agent') },
          { header: 'Text', cell: ({ text }) => <span class="prose">{text}</span> },
          { header: 'Status', cell: ({ status }) => <Status state={status} /> },
          {
            header: 'Run',
            cell: ({ run_id: run }) => (run === null ? '–' : <a href={`/app/traces/${run}`}>its trace</a>),
          },
        ]}
        keyOf={({ id: message }) => message}
        empty="The conversation has no message any more."
      />
    </>
  );
}
