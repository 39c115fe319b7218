import { counter, gauge, type Registry } from '@gatehouse/kit/metrics';

type Made = ReturnType<typeof makeMetrics>;

/** The metrics of each registry: a service may publish several outboxes. */
const made = new WeakMap<Registry, Made>();

/** Metrics of one outbox, or of events published without one. */
export function relayMetrics(registry: Registry, outbox: string) {
  const all = made.get(registry) ?? makeMetrics(registry);
  made.set(registry, all);
  // An alert needs the series before something happens.
  for (const counter of [all.published, all.deadLetters, all.failures]) counter.inc({ outbox }, 0);
  return {
    age: all.age.labels(outbox),
    entries: all.entries.labels(outbox),
    published: all.published.labels(outbox),
    deadLetters: all.deadLetters.labels(outbox),
    failures: all.failures.labels(outbox),
    partitions: all.partitions.labels(outbox),
  };
}

function makeMetrics(registry: Registry) {
  const labels = ['outbox'] as const;
  const age = 'Age of the oldest unpublished event, in the partitions of all replicas';
  const entries = 'Unpublished events in the partitions of this replica; counts up to 100,000';
  const partitions = 'Partitions whose events this replica publishes';
  const published = 'Published events, without watermarks';
  const deadLetters = 'Events that could not be published and were moved to the dead letters of the outbox';
  const failures = 'Failed attempts to read or publish events';
  return {
    age: gauge(registry, 'gatehouse_outbox_age_seconds', age, labels),
    entries: gauge(registry, 'gatehouse_outbox_entries', entries, labels),
    partitions: gauge(registry, 'gatehouse_outbox_partitions', partitions, labels),
    published: counter(registry, 'gatehouse_events_published_total', published, labels),
    deadLetters: counter(registry, 'gatehouse_events_unpublishable_total', deadLetters, labels),
    failures: counter(registry, 'gatehouse_events_publish_failures_total', failures, labels),
  };
}
