import type { ProviderDeployment } from '@gatehouse/contract/owner-providers';
import { useAnswer } from '../api/use-answer.ts';
import { count, milliseconds } from '../format/amounts.ts';
import { ReloadedAnswer } from '../parts/reloaded-answer.tsx';
import { Status } from '../parts/status.tsx';
import { Table, type Column } from '../parts/table.tsx';

/** The health of the deployments of the catalogue, over all replicas. */
export function Providers() {
  const known = useAnswer('GET /internal/v1/owner/providers', {});
  return (
    <ReloadedAnswer known={known}>
      {({ data, has_more: hasMore }) => (
        <>
          <Table
            caption="Deployments"
            columns={columns}
            rows={data}
            keyOf={({ provider, upstream_model: model }) => `${provider} ${model}`}
            empty="The catalogue has no model."
          />
          {hasMore === true ? <p>There are more than one answer holds.</p> : null}
        </>
      )}
    </ReloadedAnswer>
  );
}

const columns: readonly Column<ProviderDeployment>[] = [
  { header: 'Provider', cell: ({ provider }) => provider },
  { header: 'Model there', cell: ({ upstream_model: model }) => model },
  { header: 'Models here', cell: ({ models }) => models.join(', ') },
  { header: 'Breaker', cell: ({ breaker }) => <Status of={breaker} /> },
  {
    header: 'Keys',
    cell: ({ keys }) => (
      <>
        {keys.map(({ position, status }) => (
          <span key={position}>
            {position}: <Status of={status} />{' '}
          </span>
        ))}
      </>
    ),
  },
  { header: 'Calls', cell: ({ calls }) => count(calls), isNumber: true },
  {
    header: 'Errors',
    cell: ({ errors }) =>
      Object.entries(errors)
        .map(([code, calls]) => `${code} ${count(calls)}`)
        .join(', '),
  },
  { header: 'First byte p50', cell: ({ first_byte_ms: { p50 } }) => milliseconds(p50), isNumber: true },
  { header: 'First byte p99', cell: ({ first_byte_ms: { p99 } }) => milliseconds(p99), isNumber: true },
  { header: 'Duration p50', cell: ({ duration_ms: { p50 } }) => milliseconds(p50), isNumber: true },
  { header: 'Duration p99', cell: ({ duration_ms: { p99 } }) => milliseconds(p99), isNumber: true },
  {
    header: 'Tokens a second',
    cell: ({ tokens_per_second: speed }) => (speed === null ? '–' : String(speed)),
    isNumber: true,
  },
];
