import type { Tenant } from '@gatehouse/contract/tenants';
import { useAnswer } from '../api/use-answer.ts';
import { textColumn, timeColumn } from './columns.tsx';
import { DataTable, type DataColumn } from './data-table.tsx';
import type { GroupLink } from './group-name.tsx';
import { KnownAnswer } from './known-answer.tsx';
import type { Period } from './period-choice.tsx';
import { Status } from './status.tsx';
import { TenantName } from './tenant-budgets.tsx';

interface NewTenantsProps {
  period: Period;
  hrefOf: GroupLink;
}

const mostListed = 5;

/** The newest tenants of a period. */
export function NewTenants({ period: { range }, hrefOf }: NewTenantsProps) {
  // The list begins with the newest one.
  const known = useAnswer('GET /internal/v1/owner/tenants', { query: { limit: '200' } });
  const [from, to] = [Date.parse(range.from), Date.parse(range.to)];
  const isNew = ({ created_at: at }: Tenant): boolean => Date.parse(at) >= from && Date.parse(at) < to;
  return (
    <section>
      <KnownAnswer known={known}>
        {({ data, has_more: hasMore }) => (
          <DataTable
            caption="New tenants"
            file="new-tenants.csv"
            parameter="sort_new"
            columns={columnsOf(hrefOf)}
            rows={data.filter(isNew).slice(0, mostListed)}
            keyOf={({ id }) => id}
            empty={
              hasMore && data.every(({ created_at: at }) => Date.parse(at) >= to)
                ? 'More than 200 tenants are newer than this period. Look into Tenants.'
                : 'No tenant was created in this period.'
            }
          />
        )}
      </KnownAnswer>
    </section>
  );
}

function columnsOf(hrefOf: GroupLink): DataColumn<Tenant>[] {
  return [
    {
      ...textColumn('Tenant', ({ name }: Tenant) => name),
      cell: ({ id, name }) => <TenantName id={id} name={name} hrefOf={hrefOf} />,
    },
    {
      ...textColumn('Status', ({ status }: Tenant) => status),
      cell: ({ status }) => <Status state={status} />,
    },
    timeColumn('Created', ({ created_at: at }) => at),
  ];
}
