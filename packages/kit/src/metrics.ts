import {
  collectDefaultMetrics,
  Counter as PromCounter,
  Gauge,
  Histogram as PromHistogram,
  Registry,
  type CounterConfiguration,
  type HistogramConfiguration,
  type LabelValues,
} from 'prom-client';
import { LabelRows } from './label-rows.ts';
import { version } from './version.ts';

export { Gauge, Registry } from 'prom-client';

/** One combination of labels as prom-client holds it. */
interface CounterRow {
  labels: LabelValues<string>;
  value: number;
}

interface HistogramRow {
  labels: LabelValues<string>;
  bucketValues: Record<string, number>;
  sum: number;
  count: number;
}

/** The members of prom-client's classes that its types leave out. Bounds are a histogram's. */
interface Hidden<Row> {
  hashMap: Record<string, Row>;
  upperBounds: readonly number[];
  incWithoutExemplar(labels: unknown, value: unknown): void;
  observeWithoutExemplar(labels: unknown, value: unknown): void;
}

const promCounter = hidden<CounterRow>(PromCounter.prototype);
const promHistogram = hidden<HistogramRow>(PromHistogram.prototype);

function hidden<Row>(metric: object): Hidden<Row> {
  return metric as Hidden<Row>;
}

/**
 * Counter of prom-client. It finds the rows of known labels by their values: prom-client checks each label, and makes a
 * text of all of them, for each request again.
 */
export class Counter<Label extends string = string> extends PromCounter<Label> {
  readonly #rows: LabelRows<CounterRow>;

  constructor(options: CounterConfiguration<Label>) {
    super(options);
    this.#rows = new LabelRows(options.labelNames ?? []);
  }

  /** prom-client's constructor makes it `inc`. */
  incWithoutExemplar(labels?: LabelValues<Label> | number | null, value = 1): void {
    const { hashMap } = hidden<CounterRow>(this);
    const row = typeof labels === 'object' && value >= 0 ? this.#rows.find(labels, hashMap) : undefined;
    if (row !== undefined && value < Infinity) row.value += value;
    else promCounter.incWithoutExemplar.call(this, labels, value);
  }

  override remove(...labels: never[]): void {
    super.remove(...labels);
    this.#rows.clear();
  }
}

/** Histogram of prom-client, with rows as those of {@link Counter}. */
export class Histogram<Label extends string = string> extends PromHistogram<Label> {
  readonly #rows: LabelRows<HistogramRow>;
  readonly #bounds: readonly number[];
  readonly #names: readonly string[];

  constructor(options: HistogramConfiguration<Label>) {
    super(options);
    this.#rows = new LabelRows(options.labelNames ?? []);
    this.#bounds = hidden<HistogramRow>(this).upperBounds;
    this.#names = this.#bounds.map(String);
  }

  /** prom-client's constructor makes it `observe`. */
  observeWithoutExemplar(labels: LabelValues<Label> | number, value?: number): void {
    const { hashMap } = hidden<HistogramRow>(this);
    const row =
      typeof labels === 'object' && Number.isFinite(value) ? this.#rows.find(labels, hashMap) : undefined;
    if (row === undefined || value === undefined) {
      promHistogram.observeWithoutExemplar.call(this, labels, value);
      return;
    }
    row.sum += value;
    row.count += 1;
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1;
    const name = this.#names[at];
    if (name !== undefined) row.bucketValues[name] = (row.bucketValues[name] ?? 0) + 1;
  }

  override remove(...labels: never[]): void {
    super.remove(...labels);
    this.#rows.clear();
  }

  override zero(labels: LabelValues<Label>): void {
    super.zero(labels);
    this.#rows.clear();
  }
}

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
