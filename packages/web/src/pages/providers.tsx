import type { ProviderDeployment } from '@gatehouse/contract/owner-providers';
import { useAnswer } from '../api/use-answer.ts';
import { count } from '../format/amounts.ts';
import { byFigure } from '../format/order.ts';
import { durationColumn, figureColumn, textColumn } from '../parts/columns.tsx';
import { DataTable, type DataColumn } from '../parts/data-table.tsx';
import { ReloadedAnswer } from '../parts/reloaded-answer.tsx';
import { Status } from '../parts/status.tsx';

/** The health of the deployments of the catalogue, over all replicas. */
export function Providers() {
  const known = useAnswer('GET /internal/v1/owner/providers', {});
  return (
    <ReloadedAnswer known={known}>
      {({ data, has_more: hasMore }) => (
        <>
          <DataTable
            caption="Deployments"
            file="providers.csv"
            columns={columns}
            rows={data}
            keyOf={({ provider, upstream_model: model }) => `${provider} ${model}`}
            empty="The catalogue has no model."
          />
          {hasMore === true ? <p>The list is longer than one response; it has more deployments.</p> : null}
        </>
      )}
    </ReloadedAnswer>
  );
}

const columns: readonly DataColumn<ProviderDeployment>[] = [
  textColumn('Provider', ({ provider }) => provider),
  textColumn('Upstream model', ({ upstream_model: model }) => model),
  {
    header: 'Models',
    cell: ({ models }) => models.join(', '),
    value: ({ models }) => models.join('; '),
  },
  {
    ...textColumn('Circuit breaker', ({ breaker }: ProviderDeployment) => breaker),
    cell: ({ breaker }) => <Status state={breaker} />,
  },
  {
    header: 'Keys',
    cell: ({ keys }) => (
      <>
        {keys.map(({ position, status }) => (
          <span key={position}>
            {position}: <Status state={status} />{' '}
          </span>
        ))}
      </>
    ),
    value: ({ keys }) => keys.map(({ position, status }) => `${position}: ${status}`).join('; '),
  },
  figureColumn('Calls', ({ calls }) => calls),
  {
    header: 'Errors',
    cell: ({ errors }) =>
      Object.entries(errors)
        .map(([code, calls]) => `${code} ${count(calls)}`)
        .join(', '),
    value: ({ errors }) =>
      Object.entries(errors)
        .map(([code, calls]) => `${code} ${calls}`)
        .join('; '),
    // A figure shown on no page.
    compare: byFigure(({ errors }) => Object.values(errors).reduce((all, calls) => all + calls, 0)),
  },
  durationColumn('TTFB p50', ({ first_byte_ms: { p50 } }) => p50),
  durationColumn('TTFB p99', ({ first_byte_ms: { p99 } }) => p99),
  durationColumn('Duration p50', ({ duration_ms: { p50 } }) => p50),
  durationColumn('Duration p99', ({ duration_ms: { p99 } }) => p99),
  figureColumn(
    'Tokens/s',
    ({ tokens_per_second: speed }) => speed,
    (speed) => (speed === null ? '–' : String(speed)),
  ),
];
