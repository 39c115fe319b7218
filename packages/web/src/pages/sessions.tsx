import type { Session } from '@gatehouse/contract/sessions';
import { ConfirmedButton } from '../parts/confirmed-button.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import type { Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';

/** The browsers with a login to the tenant. */
export function Sessions() {
  return (
    <ResourceList
      name="GET /v1/sessions"
      input={{}}
      caption="Open sessions"
      columns={columnsOf}
      keyOf={({ id }) => id}
      empty="No session is open."
    />
  );
}

function columnsOf(reload: () => void): Column<Session>[] {
  return [
    { header: 'Name', cell: ({ name }) => name },
    { header: 'Role', cell: ({ role }) => role },
    { header: 'User', cell: ({ user_id: user }) => user ?? '–' },
    { header: 'Last seen', cell: ({ last_seen_at: at }) => <Time at={at} /> },
    { header: 'Created', cell: ({ created_at: at }) => <Time at={at} /> },
    { header: 'Expires', cell: ({ expires_at: at }) => <Time at={at} /> },
    {
      header: 'Actions',
      cell: ({ id, name }) => (
        <ConfirmedButton
          label="End"
          subject={`the session of ${name}`}
          name="DELETE /v1/sessions/{id}"
          input={{ params: { id } }}
          onDone={reload}
        >
          The browser is logged out within 5 seconds. Its key stays valid.
        </ConfirmedButton>
      ),
    },
  ];
}
