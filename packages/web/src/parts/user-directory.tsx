import type { Group, User } from '@gatehouse/contract/users';
import { count } from '../format/amounts.ts';
import { useParameter } from '../shell/location.tsx';
import { ActionButton } from './action-button.tsx';
import { ConfirmedButton } from './confirmed-button.tsx';
import { Creation } from './creation.tsx';
import { Choice } from './fields.tsx';
import { FilterField } from './filter-field.tsx';
import { FormButton } from './form-button.tsx';
import { ResourceList } from './resource-list.tsx';
import { Section } from './section.tsx';
import { Status } from './status.tsx';
import type { Column } from './table.tsx';
import { TextLines } from './text-lines.tsx';
import { Time } from './time.tsx';
import { UserForm } from './user-form.tsx';

const statuses = { '': 'any', active: 'active', blocked: 'blocked' };

/** Users with their names, groups and blocks, and the groups. */
export function UserDirectory() {
  const [q] = useParameter('q');
  const [group] = useParameter('group');
  const [status, setStatus] = useParameter('status');
  const isFiltered = `${q}${group}${status}` !== '';
  return (
    <Creation
      label="Add a user"
      title="Add a user"
      form={(onCreated) => <UserForm onDone={() => onCreated(null)} />}
    >
      {(_show, round) => (
        <>
          <div class="choices">
            <FilterField label="Search" name="q" />
            <FilterField label="Group" name="group" />
            <Choice label="Status" value={status} onChange={setStatus} options={statuses} />
          </div>
          <ResourceList
            key={`users ${round}`}
            name="GET /v1/users"
            input={{ query: { q, group, status } }}
            caption="Users"
            columns={userColumns}
            keyOf={({ user_id: id }) => id}
            empty={
              isFiltered
                ? 'No user matches.'
                : 'No user is in the directory. Add one to give it aliases, groups or a block; requests may act for others too.'
            }
          />
          <Section title="Groups">
            <ResourceList
              key={`groups ${round}`}
              name="GET /v1/groups"
              input={{}}
              caption="Groups"
              columns={groupColumns}
              keyOf={({ name }) => name}
              empty="There is no group. Edit a user to name one."
              parameter="groups_cursor"
            />
          </Section>
        </>
      )}
    </Creation>
  );
}

function userColumns(reload: () => void): Column<User>[] {
  return [
    { header: 'User', cell: (user) => <UserNames user={user} /> },
    { header: 'Aliases', cell: ({ aliases }) => <TextLines texts={aliases} /> },
    { header: 'Groups', cell: ({ groups }) => <TextLines texts={groups} /> },
    {
      header: 'Status',
      cell: ({ status, blocked_by: sides }) => (
        <span class="line">
          <Status state={status} />
          {sides.length === 0 ? null : <span class="faint">{` by ${sides.join(', ')}`}</span>}
        </span>
      ),
    },
    { header: 'Last seen', cell: ({ last_seen_at: at }) => <Time at={at} otherwise="never" /> },
    { header: 'Source', cell: ({ source }) => source },
    {
      header: 'Keys',
      cell: ({ user_id: id }) => (
        <a href={`/app/keys?user_id=${encodeURIComponent(id)}`} aria-label={`Keys of ${id}`}>
          Keys
        </a>
      ),
    },
    { header: 'Actions', cell: (user) => <UserButtons user={user} onDone={reload} /> },
  ];
}

/** The names of a user, with a link to the runs. */
function UserNames({ user: { user_id: id, display_name: name } }: { user: User }) {
  const runs = <a href={`/app/traces?period=30d&user_id=${encodeURIComponent(id)}`}>{name ?? id}</a>;
  return (
    <ul class="lines">
      <li>{runs}</li>
      {name === null || name === id ? null : <li class="faint">{id}</li>}
    </ul>
  );
}

function groupColumns(): Column<Group>[] {
  return [
    {
      header: 'Name',
      cell: ({ name }) => <a href={`/app/users?group=${encodeURIComponent(name)}`}>{name}</a>,
    },
    { header: 'External ID', cell: ({ external_id: id }) => id ?? '–' },
    { header: 'Members', cell: ({ members }) => count(members), isNumber: true },
  ];
}

function UserButtons({ user, onDone }: { user: User; onDone: () => void }) {
  const { user_id: id, status, blocked_by: sides } = user;
  const params = { user_id: id };
  return (
    <span class="actions">
      <FormButton label="Edit" subject={id} onDone={onDone}>
        {(done) => <UserForm user={user} onDone={done} />}
      </FormButton>
      {sides.includes('api') ? (
        <ActionButton
          label="Unblock"
          subject={id}
          name="PUT /v1/users/{user_id}"
          input={{ params, body: { status: 'active' } }}
          onDone={onDone}
        />
      ) : (
        <ConfirmedButton
          label="Block"
          subject={id}
          name="PUT /v1/users/{user_id}"
          input={{ params, body: { status: 'blocked' } }}
          onDone={onDone}
          isSafe
        >
          Within 5 seconds, requests for the user are refused, also with its keys, and its sessions end. You
          can lift the block.
        </ConfirmedButton>
      )}
      <ConfirmedButton
        label="Delete"
        subject={id}
        name="DELETE /v1/users/{user_id}"
        input={{ params }}
        onDone={onDone}
      >
        {status === 'blocked'
          ? 'The directory forgets the user, whose keys are revoked. The block stays. Its data stays too: see below.'
          : 'The directory forgets the user with its aliases and groups. Its keys and its data stay: see below.'}
      </ConfirmedButton>
    </span>
  );
}
