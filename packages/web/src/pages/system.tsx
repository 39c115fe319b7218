import type { SystemService } from '@gatehouse/contract/owner-system';
import { useAnswer } from '../api/use-answer.ts';
import { count } from '../format/amounts.ts';
import { figureColumn, textColumn } from '../parts/columns.tsx';
import { DataTable, type DataColumn } from '../parts/data-table.tsx';
import { ReloadedAnswer } from '../parts/reloaded-answer.tsx';
import { Status } from '../parts/status.tsx';

type Outbox = NonNullable<SystemService['outboxes']>[number] & { service: string };
type Queue = NonNullable<SystemService['queues']>[number] & { service: string };

/** The services: their replicas, and their waiting work. An unknown figure is no zero. */
export function System() {
  const known = useAnswer('GET /internal/v1/owner/system', {});
  return (
    <ReloadedAnswer known={known}>
      {({ data, usage_lag_seconds: lag }) => (
        <>
          <div class="cards">
            <dl class="card">
              <dt>Usage lag</dt>
              <dd class="figure">{lag === null ? 'unknown' : seconds(lag)}</dd>
            </dl>
          </div>
          <DataTable
            parameter="sort_services"
            caption="Services"
            file="services.csv"
            columns={services}
            rows={data}
            keyOf={({ service }) => service}
            empty="No service is known."
          />
          <DataTable
            parameter="sort_outboxes"
            caption="Outboxes"
            file="outboxes.csv"
            columns={outboxes}
            rows={data.flatMap(
              ({ service, outboxes: all }) => all?.map((one) => ({ ...one, service })) ?? [],
            )}
            keyOf={({ service, name }) => `${service} ${name}`}
            empty="No outbox could be read."
          />
          <DataTable
            parameter="sort_jobs"
            caption="Background jobs"
            file="jobs.csv"
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

const service = textColumn('Service', ({ service: name }: { service: string }) => name);

const oldest: DataColumn<{ oldest_age_seconds: number }> = {
  ...figureColumn('Oldest age', ({ oldest_age_seconds: age }) => age),
  cell: ({ oldest_age_seconds: age }) => seconds(age),
  unit: 's',
};

const services: readonly DataColumn<SystemService>[] = [
  service,
  {
    ...textColumn('Status', ({ status }: SystemService) => status),
    cell: ({ status }) => <Status state={status} />,
  },
  { header: 'Error', cell: ({ error }) => error ?? '–', value: ({ error }) => error },
  figureColumn('Replicas', ({ replicas }) => replicas),
  figureColumn('Dead letters', ({ dead_letters: letters }) => letters),
  figureColumn('Dead jobs', ({ dead_jobs: jobs }) => jobs),
];

const outboxes: readonly DataColumn<Outbox>[] = [
  service,
  textColumn('Outbox', ({ name }) => name),
  figureColumn('Waiting', ({ waiting }) => waiting),
  oldest,
  figureColumn('Dead letters', ({ dead_letters: letters }) => letters),
];

const queues: readonly DataColumn<Queue>[] = [
  service,
  {
    ...textColumn('Job', ({ name }: Queue) => name),
    cell: ({ name }) => name.replaceAll('_', ' '),
  },
  figureColumn('Waiting', ({ waiting }) => waiting),
  oldest,
];

function seconds(value: number): string {
  return `${count(value)} s`;
}
