import { ResourceList } from '../parts/resource-list.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';

/** Copies and moves of resources between tenants. */
export function Transfers() {
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
      empty="No transfer has run. Preview one with POST /v1/tenant/resource-transfers/previews."
    />
  );
}
