import type { ApiKey } from '@gatehouse/contract/keys';
import { Creation } from '../parts/creation.tsx';
import { amountTexts } from '../format/limits.ts';
import { KeyButtons } from '../parts/key-buttons.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { KeyForm } from '../parts/key-form.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { NewKeyForm } from '../parts/new-key-form.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { NewKey } from '../parts/new-key.tsx';
import { Status } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { TextLines } from '../parts/text-lines.tsx';
import { Time } from '../parts/time.tsx';
import { useParameter } from '../shell/location.tsx';

/** The API keys of the tenant. */
export function Keys() {
  const [user] = useParameter('user_id');
  return (
    <Creation
      label="Create a key"
      title="Create a key"
      createdTitle="The new key"
      form={(onCreated) => <NewKeyForm onCreated={onCreated} />}
      showMade={(secret, close) => <NewKey secret={secret} close={close} />}
    >
      {(show, round) => (
        <>
          <div class="choices">
            <FilterField label="User" name="user_id" />
          </div>
          <ResourceList
            key={round}
            name="GET /v1/api-keys"
            input={{ query: { user_id: user } }}
            caption="API keys"
            columns={(reload) => columnsOf(show, reload)}
            keyOf={({ id }) => id}
            empty={
              user === ''
                ? 'There is no key yet. Create one, and paste it into a program.'
                : 'No key is bound to that user.'
            }
          />
        </>
      )}
    </Creation>
  );
}

function columnsOf(show: (key: string) => void, reload: () => void): Column<ApiKey>[] {
  return [
    { header: 'Name', cell: ({ name }) => name },
    { header: 'Prefix', cell: ({ prefix }) => <code>{prefix}</code> },
    { header: 'Status', cell: ({ status }) => <Status state={status} /> },
    { header: 'Role', cell: ({ role }) => role },
    { header: 'User', cell: ({ user_id: user }) => user ?? '–' },
    { header: 'Limits', cell: ({ limits, budget }) => <TextLines texts={amountTexts(limits, budget)} /> },
    { header: 'Last used', cell: ({ last_used_at: at }) => <Time at={at} otherwise="never" /> },
    { header: 'Expires', cell: ({ expires_at: at }) => <Time at={at} otherwise="never" /> },
    { header: 'Created', cell: ({ created_at: at }) => <Time at={at} /> },
    {
      header: 'Actions',
      cell: (key) => (
        <KeyButtons apiKey={key} path="/v1/api-keys" onRevoked={reload} onRotated={show}>
          <FormButton label="Edit" subject={key.name} onDone={reload}>
            {(done) => <KeyForm apiKey={key} onDone={done} />}
          </FormButton>
        </KeyButtons>
      ),
    },
  ];
}
