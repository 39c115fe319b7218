import { Counter, Gauge, type Registry } from '@gatehouse/kit/metrics';

type Made = ReturnType<typeof makeMetrics>;

/** The metrics of each registry: a service may publish several outboxes. */
const made = new WeakMap<Registry, Made>();

/** Metrics of one outbox, or of events that are published without one. */
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
  const common = { labelNames: ['outbox'] as const, registers: [registry] };
  return {
    age: new Gauge({
      name: 'gatehouse_outbox_age_seconds',
      help: 'Age of the oldest unpublished event, in the partitions of all replicas',
      ...common,
    }),
    entries: new Gauge({
      name: 'gatehouse_outbox_entries',
      help: 'Unpublished events in the partitions of this replica; counts up to 100,000',
      ...common,
    }),
    partitions: new Gauge({
      name: 'gatehouse_outbox_partitions',
      help: 'Partitions whose events this replica publishes',
      ...common,
    }),
    published: new Counter({
      name: 'gatehouse_events_published_total',
      help: 'Published events, without watermarks',
      ...common,
    }),
    deadLetters: new Counter({
      name: 'gatehouse_events_unpublishable_total',
      help: 'Events that could not be published and were moved to the dead letters of the outbox',
      ...common,
    }),
    failures: new Counter({
      name: 'gatehouse_events_publish_failures_total',
      help: 'Failed attempts to read or publish events',
      ...common,
    }),
  };
}
