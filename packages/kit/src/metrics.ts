import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { version } from './version.ts';

export { Counter, Gauge, Histogram, Registry } from 'prom-client';

/**
 * A separate registry for each service, so that several services can share a process. Labels must be low-cardinality.
 */
export function createRegistry(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'gatehouse_build_info',
    help: 'Always 1; the version label is the release that runs',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version }, 1);
  return registry;
}

/** Duration of HTTP requests in seconds, by route id (never by path: paths contain ids). */
export function httpDuration(registry: Registry): Histogram<'route' | 'status'> {
  return new Histogram({
    name: 'gatehouse_http_request_duration_seconds',
    help: 'Time from receiving a request to the end of its response',
    labelNames: ['route', 'status'],
    buckets: [0.005, 0.025, 0.1, 0.25, 1, 2.5, 10, 60, 300],
    registers: [registry],
  });
}

/** Duration of calls to other services in seconds, by the name of the gRPC status. */
export function rpcDuration(registry: Registry): Histogram<'peer' | 'method' | 'code'> {
  return new Histogram({
    name: 'gatehouse_rpc_duration_seconds',
    help: 'Time from a call to another service to its response',
    labelNames: ['peer', 'method', 'code'],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5],
    registers: [registry],
  });
}
