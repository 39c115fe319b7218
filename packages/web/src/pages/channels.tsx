import type { ChannelInstance } from '@gatehouse/contract/channel-instances';
import { useState } from 'preact/hooks';
import { useNames } from '../api/use-names.ts';
import { ActionButton } from '../parts/action-button.tsx';
import { ChannelForm, NewChannelForm, type CreatedChannel } from '../parts/channel-form.tsx';
import { types } from '../parts/channel-members.ts';
import { ChannelCreated } from '../parts/channel-next-steps.tsx';
import { ConsentLink, type ConsentLinkState } from '../parts/consent-link.tsx';
import { Creation } from '../parts/creation.tsx';
import { EnabledButtons } from '../parts/enabled-buttons.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Name } from '../parts/name.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';
import { usePerson } from '../shell/session.tsx';
import { may } from '../shell/rights.ts';

/** Channels by which people write to agents. */
export function Channels() {
  // Without the right to change them, the list has no buttons.
  if (!may(usePerson(), { scope: 'channels.write' })) return <ChannelList isShown />;
  return (
    <Creation<CreatedChannel>
      label="Create a channel"
      title="Create a channel"
      createdTitle="The new channel"
      form={(onCreated) => <NewChannelForm onCreated={onCreated} />}
      showMade={(created, close) => <ChannelCreated created={created} close={close} />}
    >
      {(_show, round) => <ChannelList key={round} />}
    </Creation>
  );
}

function ChannelList({ isShown }: { isShown?: true }) {
  const [link, setLink] = useState<ConsentLinkState | null>(null);
  const agents = useNames('agent');
  return (
    <>
      <ConsentLink link={link} />
      <ResourceList
        name="GET /v1/channels/instances"
        input={{}}
        caption="Channels"
        columns={(reload) => [
          { header: 'Name', cell: ({ id, name }) => <a href={`/app/channels/${id}`}>{name}</a> },
          { header: 'Type', cell: ({ type }) => types[type] },
          { header: 'Status', cell: ({ status }) => <Status state={status} /> },
          { header: 'Reason', cell: ({ status_reason: reason }) => reason ?? '' },
          {
            header: 'Agent',
            cell: ({ agent_id: id }) => <Name id={id} name={agents.get(id)} href={`/app/agents/${id}`} />,
          },
          { header: 'Updated', cell: ({ updated_at: at }) => <Time at={at} /> },
          ...(isShown === true
            ? []
            : [
                {
                  header: 'Actions',
                  cell: (channel: ChannelInstance) => (
                    <ChannelButtons channel={channel} onDone={reload} onLink={setLink} />
                  ),
                },
              ]),
        ]}
        keyOf={({ id }) => id}
        empty="There is no channel yet. Create one to let people message an agent."
      />
    </>
  );
}

interface ChannelButtonsProps {
  channel: ChannelInstance;
  onDone: () => void;
  onLink: (link: ConsentLinkState) => void;
}

function ChannelButtons({ channel, onDone, onLink }: ChannelButtonsProps) {
  const { id, name, type, status } = channel;
  return (
    <span class="actions">
      {type === 'zalo_oa' ? (
        <ActionButton
          label="Consent link"
          subject={`of ${name}`}
          name="POST /v1/channels/instances/{id}/zalo-oa/consent-links"
          input={{ params: { id } }}
          onDone={onLink}
        />
      ) : null}
      <FormButton label="Edit" subject={name} onDone={onDone}>
        {(done) => <ChannelForm channel={channel} onDone={done} />}
      </FormButton>
      <EnabledButtons
        path="/v1/channels/instances/{id}"
        id={id}
        enabled={status !== 'disabled'}
        subject={name}
        effect="Messages are no longer accepted, and its conversations are gone."
        onDone={onDone}
      />
    </span>
  );
}
