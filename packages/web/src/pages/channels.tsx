import { useState } from 'preact/hooks';
import { ActionButton } from '../parts/action-button.tsx';
import { ConsentLink, type GivenLink } from '../parts/consent-link.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';

/** Channels by which people write to agents. */
export function Channels() {
  const [link, setLink] = useState<GivenLink | null>(null);
  return (
    <>
      <ConsentLink link={link} />
      <ResourceList
        name="GET /v1/channels/instances"
        input={{}}
        caption="Channels"
        columns={() => [
          { header: 'Name', cell: ({ name }) => name },
          { header: 'Type', cell: ({ type }) => type },
          { header: 'Status', cell: ({ status }) => <Status of={status} /> },
          { header: 'Reason', cell: ({ status_reason: reason }) => reason ?? '' },
          { header: 'Agent', cell: ({ agent_id: agent }) => <a href={`/app/agents/${agent}`}>{agent}</a> },
          { header: 'Messages arrive at', cell: ({ webhook_url: url }) => <code>{url}</code> },
          { header: 'Changed', cell: ({ updated_at: at }) => <Time at={at} /> },
          {
            header: 'Change',
            cell: ({ id, name, type }) =>
              type === 'zalo_oa' ? (
                <ActionButton
                  label="Link for consent"
                  of={`of ${name}`}
                  name="POST /v1/channels/instances/{id}/zalo-oa/consent-links"
                  input={{ params: { id } }}
                  onDone={setLink}
                />
              ) : null,
          },
        ]}
        keyOf={({ id }) => id}
        empty="There is no channel yet. Create one with POST /v1/channels/instances."
      />
    </>
  );
}
