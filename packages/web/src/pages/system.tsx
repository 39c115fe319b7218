import type { SystemService } from '@gatehouse/contract/owner-system';
import { useAnswer } from '../api/use-answer.ts';
import { count } from '../format/amounts.ts';
import { ReloadedAnswer } from '../parts/reloaded-answer.tsx';
import { Status } from '../parts/status.tsx';
import { Table, type Column } from '../parts/table.tsx';

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
          <Table
            caption="Services"
            columns={services}
            rows={data}
            keyOf={({ service }) => service}
            empty="No service is known."
          />
          <Table
            caption="Events that wait for publication"
            columns={outboxes}
            rows={data.flatMap(
              ({ service, outboxes: all }) => all?.map((one) => ({ ...one, service })) ?? [],
            )}
            keyOf={({ service, name }) => `${service} ${name}`}
            empty="No outbox could be read."
          />
          <Table
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

const services: readonly Column<SystemService>[] = [
  { header: 'Service', cell: ({ service }) => service },
  { header: 'Status', cell: ({ status }) => <Status of={status} /> },
  { header: 'Error', cell: ({ error }) => error ?? '–' },
  { header: 'Replicas', cell: ({ replicas }) => figure(replicas), isNumber: true },
  { header: 'Dead letters', cell: ({ dead_letters: letters }) => figure(letters), isNumber: true },
  { header: 'Dead jobs', cell: ({ dead_jobs: jobs }) => figure(jobs), isNumber: true },
];

const outboxes: readonly Column<Outbox>[] = [
  { header: 'Service', cell: ({ service }) => service },
  { header: 'Outbox', cell: ({ name }) => name },
  { header: 'Waiting', cell: ({ waiting }) => count(waiting), isNumber: true },
  { header: 'Oldest', cell: ({ oldest_age_seconds: age }) => seconds(age), isNumber: true },
  { header: 'Dead letters', cell: ({ dead_letters: letters }) => count(letters), isNumber: true },
];

const queues: readonly Column<Queue>[] = [
  { header: 'Service', cell: ({ service }) => service },
  { header: 'Task', cell: ({ name }) => name.replaceAll('_', ' ') },
  { header: 'Waiting', cell: ({ waiting }) => count(waiting), isNumber: true },
  { header: 'Oldest', cell: ({ oldest_age_seconds: age }) => seconds(age), isNumber: true },
];

function figure(value: number | null): string {
  return value === null ? '–' : count(value);
}

function seconds(value: number): string {
  return `${count(value)} s`;
}
