import { useNames } from '../api/use-names.ts';
import { ConfirmedButton } from '../parts/confirmed-button.tsx';
import { DeleteOwnData } from '../parts/delete-account-data.tsx';
import { EmptyText } from '../parts/empty-state.tsx';
import { Name } from '../parts/name.tsx';
import { PersonalLogins } from '../parts/personal-logins.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Time } from '../parts/time.tsx';
import { may } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';

/** The data a person has given to agents: logins, cookies of sites visited by agents for them, and all of it. */
export function MyData() {
  const person = usePerson();
  const { user_id: user } = person;
  const mayGiveCookies = may(person, { scope: 'cookies.write' });
  if (user === null)
    return (
      <EmptyText text="Your key is bound to no user, so it has no data of its own. An admin can create a key for a user." />
    );
  return (
    <>
      {may(person, { scope: 'chat' }) ? <PersonalLogins /> : null}
      {mayGiveCookies ? <Cookies /> : null}
      {mayGiveCookies && may(person, { scope: 'memory.write' }) ? <DeleteOwnData user={user} /> : null}
    </>
  );
}

function Cookies() {
  const agents = useNames('agent');
  return (
    <ResourceList
      name="GET /v1/browser/cookies"
      input={{}}
      caption="Cookies that agents may use for you"
      columns={(reload) => [
        { header: 'Site', cell: ({ domain }) => domain },
        { header: 'Name', cell: ({ name }) => <code>{name}</code> },
        { header: 'Agent', cell: ({ agent_id: id }) => <Name id={id} name={agents.get(id)} /> },
        { header: 'Source', cell: ({ source }) => source },
        { header: 'Expires', cell: ({ expires_at: at }) => <Time at={at} otherwise="with the session" /> },
        {
          header: 'Actions',
          cell: ({ agent_id: agent, domain }) => (
            <ConfirmedButton
              label="Delete"
              subject={`cookies of ${domain}`}
              name="DELETE /v1/browser/cookies"
              input={{ query: { agent_id: agent, domain } }}
              onDone={reload}
            >
              All cookies of this site that you gave to this agent are deleted.
            </ConfirmedButton>
          ),
        },
      ]}
      keyOf={({ agent_id: agent, domain, path, name, partition_key: partition }) =>
        JSON.stringify([agent, domain, path, name, partition])
      }
      empty="You have given no cookie to an agent."
    />
  );
}
