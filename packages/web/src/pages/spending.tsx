import type { Dimension, UsageSummary } from '@gatehouse/contract/usage';
import { useAnswer } from '../api/use-answer.ts';
import { count, milliseconds } from '../format/amounts.ts';
import { CostReport, useGrouping, type CostEndpoints, type ReportDimension } from '../parts/cost-report.tsx';
import { FailingGroups } from '../parts/failing-groups.tsx';
import { FilterChips } from '../parts/filter-chips.tsx';
import { usePeriod } from '../parts/period-choice.tsx';
import { NewTenants } from '../parts/new-tenants.tsx';
import { TenantBudgets } from '../parts/tenant-budgets.tsx';
import { urlWith, useView } from '../shell/location.tsx';

const endpoints: CostEndpoints = {
  summary: 'GET /internal/v1/owner/costs/summary',
  exports: 'GET /internal/v1/owner/costs/export',
};

const dimensions: [ReportDimension, ...ReportDimension[]] = [
  'tenant',
  ...(['day', 'month', 'model', 'provider', 'agent', 'api_key', 'channel', 'client'] as const),
];

/** Filters set by links of groups, with their labels. */
const filters = { tenant_id: 'Tenant', model: 'Model', provider: 'Provider', channel: 'Channel' };
const filterNames = ['tenant_id', 'model', 'provider', 'channel'] as const;

/** The spending of all tenants: by tenant and day, with budgets, failures and new tenants. */
export function Spending() {
  const { path, query } = useView();
  const period = usePeriod();
  const { by } = useGrouping(dimensions);
  const filter: Partial<Record<(typeof filterNames)[number], string>> = {};
  for (const name of filterNames) {
    const value = query.get(name);
    if (value !== null) filter[name] = value;
  }
  const usage = useAnswer('GET /internal/v1/owner/usage/summary', {
    query: { ...period.range, ...filter, group_by: by },
  });
  const hrefOf = (dimension: Dimension, value: string): string | undefined => {
    const changes = linkOf(dimension, value);
    return changes === undefined ? undefined : urlWith(path, query, { and: '', ...changes });
  };
  const tenant = query.get('tenant_id');
  const isOfAll = Object.keys(filter).length === 0;
  return (
    <>
      <FilterChips filters={filters} />
      <CostReport
        endpoints={endpoints}
        dimensions={dimensions}
        filter={filter}
        hrefOf={hrefOf}
        pricesHref="/app/models"
        cards={usage.answer === null ? null : <Runs totals={usage.answer.totals} />}
      >
        {by === 'day' || by === 'month' ? null : (
          <div class="beside">
            {isOfAll || tenant !== null ? <TenantBudgets tenant={tenant} hrefOf={hrefOf} /> : null}
            <FailingGroups usage={usage} by={by} hrefOf={hrefOf} />
            {isOfAll ? <NewTenants period={period} hrefOf={hrefOf} /> : null}
          </div>
        )}
      </CostReport>
    </>
  );
}

/** The view of a group: its models, or its tenants. */
function linkOf(dimension: Dimension, value: string): Record<string, string> | undefined {
  switch (dimension) {
    case 'tenant':
      return { tenant_id: value, by: 'model' };
    case 'day':
      return { period: value, by: '' };
    case 'model':
    case 'provider':
    case 'channel':
      return { [dimension]: value, by: '' };
    default:
      return undefined;
  }
}

function Runs({ totals }: { totals: UsageSummary['totals'] }) {
  return (
    <dl class="card">
      <dt>Runs</dt>
      <dd class="figure" data-figure="requests">
        {count(totals.requests)}
      </dd>
      <dd class="faint">
        {`${count(totals.errors)} failed · ${count(totals.refused)} refused · ${milliseconds(totals.avg_duration_ms)} on average`}
      </dd>
    </dl>
  );
}
