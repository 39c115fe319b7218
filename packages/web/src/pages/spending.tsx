import type { Dimension } from '@gatehouse/contract/usage';
import { useNames } from '../api/use-names.ts';
import { CostReport, type CostEndpoints } from '../parts/cost-report.tsx';
import { urlWith, useParameter, useView } from '../shell/location.tsx';

const endpoints: CostEndpoints = {
  summary: 'GET /internal/v1/owner/costs/summary',
  exports: 'GET /internal/v1/owner/costs/export',
};

/** The spending of all tenants, or of one: its name leads to its models. */
export function Spending() {
  const { path, query } = useView();
  const [tenant] = useParameter('tenant_id');
  const names = useNames('tenant');
  const hrefOf = (dimension: Dimension, value: string): string | undefined =>
    dimension === 'tenant' ? urlWith(path, query, { tenant_id: value, by: 'model', and: '' }) : undefined;
  return (
    <>
      {tenant === '' ? null : (
        <p>
          Tenant <strong>{names.get(tenant) ?? tenant}</strong> ·{' '}
          <a href={urlWith(path, query, { tenant_id: '', by: '' })}>All tenants</a>
        </p>
      )}
      <CostReport
        endpoints={endpoints}
        dimensions={['tenant', 'day', 'month', 'model', 'provider', 'agent', 'api_key', 'channel', 'client']}
        {...(tenant !== '' && { filter: { tenant_id: tenant } })}
        hrefOf={hrefOf}
      />
    </>
  );
}
