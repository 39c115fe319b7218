import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { version } from './version.ts';

export { Counter, Gauge, Histogram, Registry } from 'prom-client';

/**
 * The loop's delay is sampled so often, and no shorter one is shown. prom-client's default of 10 ms wakes an idle process
 * 100 times a second.
 */
const loopSamplingMs = 50;

/**
 * A separate registry for each service: several services can share a process. Labels must be low-cardinality.
 * `withProcess`: whether it has the metrics of the process too (the default).
 */
export function createRegistry(service: string, { ofProcess: withProcess = true } = {}): Registry {
  const registry = withProcess ? createProcessRegistry(service) : registryOf(service);
  const help = 'Always 1; the version label is the release that runs';
  gauge(registry, 'gatehouse_build_info', help, ['version']).set({ version }, 1);
  return registry;
}

/** The metrics of a process, under the name of its service or of all of them. */
export function createProcessRegistry(name: string): Registry {
  const registry = registryOf(name);
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: loopSamplingMs });
  return registry;
}

function registryOf(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  return registry;
}

/** The metrics of registries in one text: each name once, with the samples of all its registries. */
export async function expositionOf(
  registries: readonly Registry[],
): Promise<{ contentType: string; text: string }> {
  const samples = new Map<string, string[]>();
  for (const registry of registries)
    for (const { name } of registry.getMetricsAsArray()) {
      const lines = (await registry.getSingleMetricAsString(name)).split('\n');
      const isComment = (line: string): boolean => line.startsWith('# ');
      const known = samples.get(name) ?? lines.filter(isComment);
      samples.set(name, [...known, ...lines.filter((line) => line !== '' && !isComment(line))]);
    }
  const text = [...samples.values()].map((lines) => `${lines.join('\n')}\n`).join('\n');
  return { contentType: Registry.PROMETHEUS_CONTENT_TYPE, text };
}

/** Creates a counter in a registry. Labels have few values each. */
export function counter<Label extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
): Counter<Label> {
  return new Counter({ name, help, labelNames, registers: [registry] });
}

/** Creates a gauge in a registry. For one computed at collection: `new Gauge`. */
export function gauge<Label extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
): Gauge<Label> {
  return new Gauge({ name, help, labelNames, registers: [registry] });
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
