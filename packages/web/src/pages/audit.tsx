import { useNames } from '../api/use-names.ts';
import { auditColumns, AuditFilters, useAuditFilters } from '../parts/audit-entries.tsx';
import { ResourceList } from '../parts/resource-list.tsx';

/** Administrative changes of the tenant. */
export function Audit() {
  const query = useAuditFilters();
  const keys = useNames('api_key');
  return (
    <>
      <div class="choices">
        <AuditFilters />
      </div>
      <ResourceList
        name="GET /v1/audit-log"
        input={{ query }}
        caption="Administrative changes, newest first"
        columns={() => auditColumns(keys)}
        keyOf={({ id }) => id}
        empty="No change is recorded that the filters let through."
      />
    </>
  );
}
