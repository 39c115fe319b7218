import { CostReport, type CostEndpoints } from '../parts/cost-report.tsx';

const endpoints: CostEndpoints = { summary: 'GET /v1/costs/summary', exports: 'GET /v1/costs/export' };

/** The spending of the tenant. */
export function Costs() {
  return (
    <CostReport
      endpoints={endpoints}
      dimensions={[
        ...(['day', 'month', 'model', 'provider', 'agent'] as const),
        ...(['user', 'api_key', 'channel', 'client', 'session'] as const),
      ]}
    />
  );
}
