import { useNames } from '../api/use-names.ts';
import { Creation } from '../parts/creation.tsx';
import { Choice } from '../parts/fields.tsx';
import { KeyButtons } from '../parts/key-buttons.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { Name } from '../parts/name.tsx';
import { NewOwnerKeyForm } from '../parts/new-owner-key-form.tsx';
import { NewSecret } from '../parts/new-secret.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';
import { useParameter } from '../shell/location.tsx';

const roles = { '': 'any', owner: 'owner', admin: 'admin', user: 'user' };
const statuses = {
  '': 'any',
  active: 'active',
  expiring: 'expiring',
  expired: 'expired',
  revoked: 'revoked',
};

/** The keys of owners and admins. */
export function OwnerKeys() {
  return (
    <Creation
      label="Create a key"
      title="Create a key"
      createdTitle="The new key"
      form={(onCreated) => <NewOwnerKeyForm onCreated={onCreated} />}
      showMade={(secret) => <NewSecret label="API key." secret={secret} />}
    >
      {(_show, round) => <OwnerKeyList key={round} />}
    </Creation>
  );
}

function OwnerKeyList() {
  const [role, setRole] = useParameter('role');
  const [status, setStatus] = useParameter('status');
  const [tenant] = useParameter('tenant_id');
  const tenants = useNames('tenant');
  return (
    <>
      <div class="choices">
        <Choice label="Role" value={role} onChange={setRole} options={roles} />
        <Choice label="Status" value={status} onChange={setStatus} options={statuses} />
        <FilterField label="Tenant" name="tenant_id" hint="Tenant ID" />
      </div>
      <ResourceList
        name="GET /internal/v1/owner/api-keys"
        input={{ query: { role, status, tenant_id: tenant } }}
        caption="API keys"
        columns={(reload) => [
          { header: 'Name', cell: ({ name }) => name },
          { header: 'Prefix', cell: ({ prefix }) => <code>{prefix}</code> },
          { header: 'Status', cell: ({ status: state }) => <Status state={state} /> },
          { header: 'Role', cell: ({ role: kind }) => kind },
          {
            header: 'Tenant',
            cell: ({ tenant_id: id }) => (id === null ? 'platform' : <Name id={id} name={tenants.get(id)} />),
          },
          { header: 'Last used', cell: ({ last_used_at: at }) => <Time at={at} otherwise="never" /> },
          { header: 'Created', cell: ({ created_at: at }) => <Time at={at} /> },
          {
            header: 'Actions',
            cell: (key) => <KeyButtons apiKey={key} path="/internal/v1/owner/api-keys" onRevoked={reload} />,
          },
        ]}
        keyOf={({ id }) => id}
        empty="No key has such a role or status."
      />
    </>
  );
}
