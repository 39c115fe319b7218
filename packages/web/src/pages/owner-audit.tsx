import { useNames } from '../api/use-names.ts';
import { auditColumns, AuditFilters, useAuditFilters } from '../parts/audit-entries.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { Name } from '../parts/name.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { useParameter } from '../shell/location.tsx';

/** Administrative changes of all tenants and of the platform. */
export function OwnerAudit() {
  const filters = useAuditFilters();
  const [tenant] = useParameter('tenant_id');
  const tenants = useNames('tenant');
  const keys = useNames('owner_key');
  return (
    <>
      <div class="choices">
        <AuditFilters />
        <FilterField label="Tenant" name="tenant_id" hint="Tenant ID" />
      </div>
      <ResourceList
        name="GET /internal/v1/owner/audit-log"
        input={{ query: { ...filters, tenant_id: tenant } }}
        caption="Administrative changes, newest first"
        columns={() => [
          ...auditColumns(keys).slice(0, 3),
          {
            header: 'Tenant',
            cell: ({ tenant_id: id }) => (id === null ? 'platform' : <Name id={id} name={tenants.get(id)} />),
          },
          ...auditColumns(keys).slice(3),
        ]}
        keyOf={({ id }) => id}
        empty="No change is recorded that the filters let through."
      />
    </>
  );
}
