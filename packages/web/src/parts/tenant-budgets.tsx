import type { TenantBudget } from '@gatehouse/contract/owner-budgets';
import { useAnswer } from '../api/use-answer.ts';
import { compareDecimals } from '../format/amounts.ts';
import { textColumn, timeColumn } from './columns.tsx';
import { DataTable, type DataColumn } from './data-table.tsx';
import type { GroupLink } from './group-name.tsx';
import { KnownAnswer } from './known-answer.tsx';
import { Money } from './money.tsx';
import { Name } from './name.tsx';

interface TenantBudgetsProps {
  /** One tenant; null for all of them. */
  tenant: string | null;
  hrefOf: GroupLink;
}

const mostListed = 5;

/** The budgets with the largest spent share. */
export function TenantBudgets({ tenant, hrefOf }: TenantBudgetsProps) {
  const query = { limit: String(mostListed), ...(tenant !== null && { tenant_id: tenant }) };
  const known = useAnswer('GET /internal/v1/owner/budgets', { query });
  return (
    <section>
      <KnownAnswer known={known}>
        {({ data }) => (
          <DataTable
            caption={tenant === null ? 'Budgets closest to their limit' : 'Budget'}
            file="budgets.csv"
            parameter="sort_budgets"
            columns={tenant === null ? columnsOf(hrefOf) : [...columnsOf(hrefOf), resets]}
            rows={data}
            keyOf={({ tenant: id }) => id}
            empty={tenant === null ? 'No tenant has a budget.' : 'The tenant has no budget.'}
          />
        )}
      </KnownAnswer>
    </section>
  );
}

const resets = timeColumn('Resets', ({ resets_at: at }: TenantBudget) => at);

function columnsOf(hrefOf: GroupLink): DataColumn<TenantBudget>[] {
  return [
    {
      ...textColumn('Tenant', ({ tenant_name: name }: TenantBudget) => name),
      cell: ({ tenant, tenant_name: name }) => <TenantName id={tenant} name={name} hrefOf={hrefOf} />,
    },
    {
      header: 'Spent',
      cell: (budget) => <SpentBudget budget={budget} />,
      value: ({ used }) => used,
      compare: (one, other) => compareDecimals(other.used, one.used),
      isNumber: true,
    },
    {
      header: 'Budget',
      cell: ({ limit, window }) => (
        <span class="line">
          <Money amount={limit} />/{window}
        </span>
      ),
      value: ({ limit }) => limit,
      compare: (one, other) => compareDecimals(other.limit, one.limit),
      isNumber: true,
    },
  ];
}

/** A bar and the spent amount of a budget. */
export function SpentBudget({ budget: { tenant_name: name, used, limit } }: { budget: TenantBudget }) {
  return (
    <span class="budget">
      <meter min={0} max={Number(limit)} value={Number(used)} aria-label={`Budget of ${name} spent`} />{' '}
      <Money amount={used} />
    </span>
  );
}

interface TenantNameProps {
  id: string;
  name: string;
  hrefOf: GroupLink;
}

/** The name of a tenant with a link to its figures. */
export function TenantName({ id, name, hrefOf }: TenantNameProps) {
  const href = hrefOf('tenant', id);
  return <Name id={id} name={name} {...(href !== undefined && { href })} />;
}
