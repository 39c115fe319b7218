import type { Dimension } from '@gatehouse/contract/usage';
import { CostReport, type CostEndpoints } from '../parts/cost-report.tsx';
import { runsIn } from '../parts/group-name.tsx';
import { usePeriod } from '../parts/period-choice.tsx';
import { urlWith, useView } from '../shell/location.tsx';

const endpoints: CostEndpoints = { summary: 'GET /v1/costs/summary', exports: 'GET /v1/costs/export' };

/** The spending of the tenant: a day leads to its costs, and other groups to their runs. */
export function Costs() {
  const { path, query } = useView();
  const { name } = usePeriod();
  const hrefOf = (dimension: Dimension, value: string): string | undefined =>
    dimension === 'day'
      ? urlWith(path, query, { period: value, by: query.get('and') ?? 'model', and: '', sort: '' })
      : runsIn(name, 'Cost')(dimension, value);
  return (
    <CostReport
      endpoints={endpoints}
      dimensions={[
        ...(['day', 'month', 'model', 'provider', 'agent'] as const),
        ...(['user', 'group', 'api_key', 'channel', 'client', 'session'] as const),
      ]}
      hrefOf={hrefOf}
    />
  );
}
