import { counter, gauge, type Registry } from '@gatehouse/kit/metrics';

export type JobMetrics = ReturnType<typeof jobMetrics>;

export function jobMetrics(registry: Registry) {
  const labels = ['task'] as const;
  const done = 'Jobs that this replica has finished';
  const failed = 'Failed attempts of jobs, including those whose process was lost';
  const dead = 'Jobs whose last attempt failed';
  const running = 'Jobs that this replica runs now';
  const waiting = 'Jobs that could run now, of all replicas; counts up to 100,000';
  const age = 'How long the oldest waiting job could have run already';
  const deadKept = 'Dead jobs that are kept: for 30 days, at most 1,000';
  return {
    done: counter(registry, 'gatehouse_jobs_done_total', done, labels),
    failed: counter(registry, 'gatehouse_jobs_failed_total', failed, labels),
    dead: counter(registry, 'gatehouse_jobs_dead_total', dead, labels),
    running: gauge(registry, 'gatehouse_jobs_running', running, labels),
    waiting: gauge(registry, 'gatehouse_jobs_waiting', waiting, labels),
    age: gauge(registry, 'gatehouse_jobs_oldest_age_seconds', age, labels),
    kept: gauge(registry, 'gatehouse_jobs_dead', deadKept),
  };
}
