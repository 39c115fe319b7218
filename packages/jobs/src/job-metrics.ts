import { Counter, Gauge, type Registry } from '@gatehouse/kit/metrics';

export type JobMetrics = ReturnType<typeof jobMetrics>;

export function jobMetrics(registry: Registry) {
  const registers = [registry];
  const labelNames = ['task'] as const;
  return {
    done: new Counter({
      name: 'gatehouse_jobs_done_total',
      help: 'Jobs that this replica has finished',
      labelNames,
      registers,
    }),
    failed: new Counter({
      name: 'gatehouse_jobs_failed_total',
      help: 'Failed attempts of jobs, including those whose process was lost',
      labelNames,
      registers,
    }),
    dead: new Counter({
      name: 'gatehouse_jobs_dead_total',
      help: 'Jobs whose last attempt failed',
      labelNames,
      registers,
    }),
    running: new Gauge({
      name: 'gatehouse_jobs_running',
      help: 'Jobs that this replica runs now',
      labelNames,
      registers,
    }),
    waiting: new Gauge({
      name: 'gatehouse_jobs_waiting',
      help: 'Jobs that could run now, of all replicas; counts up to 100,000',
      labelNames,
      registers,
    }),
    age: new Gauge({
      name: 'gatehouse_jobs_oldest_age_seconds',
      help: 'How long the oldest waiting job could have run already',
      labelNames,
      registers,
    }),
    kept: new Gauge({
      name: 'gatehouse_jobs_dead',
      help: 'Dead jobs that are kept: for 30 days, at most 1,000',
      registers,
    }),
  };
}
