import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';

export { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** A registry of its own per service, so that several services can share a process. Labels stay low-cardinality. */
export function createRegistry(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** Duration of HTTP requests in seconds, by route id of the contract (never by path: paths carry ids). */
export function httpDuration(registry: Registry): Histogram<'route' | 'status'> {
  return new Histogram({
    name: 'gatehouse_http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its response',
    labelNames: ['route', 'status'],
    buckets: [0.005, 0.025, 0.1, 0.25, 1, 2.5, 10, 60, 300],
    registers: [registry],
  });
}
