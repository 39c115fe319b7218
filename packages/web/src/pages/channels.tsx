import type { ChannelInstance } from '@gatehouse/contract/channel-instances';
import { useState } from 'preact/hooks';
import { useNames } from '../api/use-names.ts';
import { ActionButton } from '../parts/action-button.tsx';
import { ConsentLink, type ConsentLinkState } from '../parts/consent-link.tsx';
import { Creation } from '../parts/creation.tsx';
import { EnabledButtons } from '../parts/enabled-buttons.tsx';
import { NewChannelForm } from '../parts/new-channel-form.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Name } from '../parts/name.tsx';
import { NewSecret } from '../parts/new-secret.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';
import { usePerson } from '../shell/session.tsx';
import { may } from '../shell/rights.ts';

/** Channels by which people write to agents. */
export function Channels() {
  // Without the right to change them, the list has no buttons.
  if (!may(usePerson(), { scope: 'channels.write' })) return <ChannelList isShown />;
  return (
    <Creation
      label="Create a channel"
      title="Create a channel"
      createdTitle="The new channel"
      form={(onCreated) => <NewChannelForm onCreated={onCreated} />}
      showMade={(secret) => <NewSecret label="Signing secret." secret={secret} />}
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
          { header: 'Name', cell: ({ name }) => name },
          { header: 'Type', cell: ({ type }) => type },
          { header: 'Status', cell: ({ status }) => <Status state={status} /> },
          { header: 'Reason', cell: ({ status_reason: reason }) => reason ?? '' },
          {
            header: 'Agent',
            cell: ({ agent_id: id }) => <Name id={id} name={agents.get(id)} href={`/app/agents/${id}`} />,
          },
          { header: 'Webhook URL', cell: ({ webhook_url: url }) => <code>{url}</code> },
          { header: 'Updated', cell: ({ updated_at: at }) => <Time at={at} /> },
          ...(isShown === true ? [] : [{ header: 'Actions', cell: changeOf(reload, setLink) }]),
        ]}
        keyOf={({ id }) => id}
        empty="There is no channel yet. Create one to let people message an agent."
      />
    </>
  );
}

function changeOf(reload: () => void, setLink: (link: ConsentLinkState) => void) {
  return ({ id, name, type, status }: ChannelInstance) => (
    <span class="actions">
      {type === 'zalo_oa' ? (
        <ActionButton
          label="Consent link"
          subject={`of ${name}`}
          name="POST /v1/channels/instances/{id}/zalo-oa/consent-links"
          input={{ params: { id } }}
          onDone={setLink}
        />
      ) : null}
      <EnabledButtons
        path="/v1/channels/instances/{id}"
        id={id}
        enabled={status !== 'disabled'}
        subject={name}
        effect="Messages are no longer accepted, and its conversations are gone."
        onDone={reload}
      />
    </span>
  );
}
