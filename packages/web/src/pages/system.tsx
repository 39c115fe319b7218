import type { SystemService } from '@gatehouse/contract/owner-system';
import { useAnswer } from '../api/use-answer.ts';
import { count } from '../format/amounts.ts';
import { byFigure, byText } from '../format/order.ts';
import { OrderedTable, type OrderedColumn } from '../parts/ordered-table.tsx';
import { ReloadedAnswer } from '../parts/reloaded-answer.tsx';
import { Status } from '../parts/status.tsx';

type Outbox = NonNullable<SystemService['outboxes']>[number] & { service: string };
type Queue = NonNullable<SystemService['queues']>[number] & { service: string };

/** The services: their replicas, and what waits in them. A figure that is not known is no zero. */
export function System() {
  const known = useAnswer('GET /internal/v1/owner/system', {});
  return (
    <ReloadedAnswer known={known}>
      {({ data, usage_lag_seconds: lag }) => (
        <>
          <div class="cards">
            <dl class="card">
              <dt>Runs are counted up to</dt>
              <dd class="figure">{lag === null ? 'unknown' : `${seconds(lag)} ago`}</dd>
            </dl>
          </div>
          <OrderedTable
            parameter="sort_services"
            label="Order of services"
            caption="Services"
            columns={services}
            rows={data}
            keyOf={({ service }) => service}
            empty="No service is known."
          />
          <OrderedTable
            parameter="sort_outboxes"
            label="Order of outboxes"
            caption="Events that wait for publication"
            columns={outboxes}
            rows={data.flatMap(
              ({ service, outboxes: all }) => all?.map((one) => ({ ...one, service })) ?? [],
            )}
            keyOf={({ service, name }) => `${service} ${name}`}
            empty="No outbox could be read."
          />
          <OrderedTable
            parameter="sort_jobs"
            label="Order of jobs"
            caption="Background jobs"
            columns={queues}
            rows={data.flatMap(({ service, queues: all }) => all?.map((one) => ({ ...one, service })) ?? [])}
            keyOf={({ service, name }) => `${service} ${name}`}
            empty="No queue could be read."
          />
        </>
      )}
    </ReloadedAnswer>
  );
}

const service: OrderedColumn<{ service: string }> = {
  header: 'Service',
  cell: ({ service: name }) => name,
  compare: byText(({ service: name }) => name),
};

const oldest: OrderedColumn<{ oldest_age_seconds: number }> = {
  header: 'Oldest',
  cell: ({ oldest_age_seconds: age }) => seconds(age),
  isNumber: true,
  compare: byFigure(({ oldest_age_seconds: age }) => age),
};

const services: readonly OrderedColumn<SystemService>[] = [
  service,
  {
    header: 'Status',
    cell: ({ status }) => <Status of={status} />,
    compare: byText(({ status }) => status),
  },
  { header: 'Error', cell: ({ error }) => error ?? '–' },
  amount('Replicas', ({ replicas }) => replicas),
  amount('Dead letters', ({ dead_letters: letters }) => letters),
  amount('Dead jobs', ({ dead_jobs: jobs }) => jobs),
];

const outboxes: readonly OrderedColumn<Outbox>[] = [
  service,
  { header: 'Outbox', cell: ({ name }) => name, compare: byText(({ name }) => name) },
  amount('Waiting', ({ waiting }) => waiting),
  oldest,
  amount('Dead letters', ({ dead_letters: letters }) => letters),
];

const queues: readonly OrderedColumn<Queue>[] = [
  service,
  {
    header: 'Task',
    cell: ({ name }) => name.replaceAll('_', ' '),
    compare: byText(({ name }) => name),
  },
  amount('Waiting', ({ waiting }) => waiting),
  oldest,
];

function amount<Row>(header: string, of: (row: Row) => number | null): OrderedColumn<Row> {
  return { header, cell: (row) => figure(of(row)), isNumber: true, compare: byFigure(of) };
}

function figure(value: number | null): string {
  return value === null ? '–' : count(value);
}

function seconds(value: number): string {
  return `${count(value)} s`;
}
