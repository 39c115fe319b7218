import { Creation } from '../parts/creation.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';
import { OwnerTransferForm, TransferForm } from '../parts/transfer-form.tsx';
import { usePerson } from '../shell/session.tsx';
import { useView } from '../shell/location.tsx';

/** Copies and moves of resources between tenants. */
export function Transfers() {
  const { go } = useView();
  const Form = usePerson().role === 'owner' ? OwnerTransferForm : TransferForm;
  return (
    <Creation
      label="Plan a transfer"
      title="Plan a transfer"
      form={() => <Form onCreated={({ id }) => go(`/app/transfers/${id}`)} />}
    >
      {() => <TransferList />}
    </Creation>
  );
}

function TransferList() {
  return (
    <ResourceList
      name="GET /v1/tenant/resource-transfers"
      input={{}}
      caption="Transfers, newest first"
      columns={() => [
        { header: 'Started', cell: ({ created_at: at }) => <Time at={at} /> },
        { header: 'Status', cell: ({ status }) => <Status state={status} /> },
        { header: 'Mode', cell: ({ mode }) => mode },
        { header: 'From', cell: ({ source_tenant_id: tenant }) => <code>{tenant}</code> },
        { header: 'To', cell: ({ target_tenant_id: tenant }) => <code>{tenant}</code> },
        {
          header: 'Resources',
          cell: ({ items }) => (
            <ul>
              {items.map(({ type, action, source_id: source }) => (
                <li key={source}>{`${action} ${type} ${source}`}</li>
              ))}
            </ul>
          ),
        },
        { header: 'Error', cell: ({ error }) => error?.message ?? '' },
      ]}
      keyOf={({ id }) => id}
      empty="No transfer has run. Plan one: it is previewed before anything changes."
    />
  );
}
