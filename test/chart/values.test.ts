import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import { combinations } from './combinations.ts';
import { chart, chartFile, refusal, render, required, runHelm, serviceNames, type Values } from './helm.ts';

const defaults = chartFile('values.yaml') as Values;
const validate = new Ajv({ strictTypes: false }).compile(chartFile('values.schema.json') as object);

/** Maps whose keys are the operator's or Kubernetes': the API server checks those. */
const open =
  /(^|\.)([a-zA-Z]*[lL]abels|[a-zA-Z]*[aA]nnotations|nodeSelector|[a-zA-Z]*SecurityContext|requests|limits|scaleDown)(\.|$)/;

/** Every value, with its path. */
function* entries(value: unknown, at: string[] = []): Generator<{ at: string[]; value: unknown }> {
  if (at.length > 0) yield { at, value };
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return;
  for (const [key, inner] of Object.entries(value)) yield* entries(inner, [...at, key]);
}

/** Values that say one thing. */
function saying(at: readonly string[], value: unknown): Values {
  return at.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Values;
}

const all = [...entries(defaults)].map(({ at, value }) => ({ name: at.join('.'), at, value }));

describe('values', () => {
  it('are accepted as they are', () => {
    expect(
      validate({ ...defaults, image: { ...(defaults.image as Values), ...(required.image as Values) } }),
    ).toBe(true);
    expect(render()).not.toEqual([]);
  });

  it('need a registry, and say how it gets the images', () => {
    for (const image of [{ registry: '' }, { registry: null }])
      expect(refusal({ ...required, image })).toMatch(/'\/image/);
    expect(refusal({ ...required, image: { registry: '' } })).toContain(
      'build and push them with `REGISTRY=registry.example.com make images`',
    );
  });

  const maps = all.filter(({ name, value }) => value?.constructor === Object && !open.test(name));
  it.each(maps)('refuse a misspelt name in $name', ({ at }) => {
    expect(validate(saying([...at, 'misspelt'], 1))).toBe(false);
  });

  it.each(all.filter(({ name }) => !open.test(name)))('refuse $name of the wrong type', ({ at, value }) => {
    const wrong = value !== null && typeof value === 'object' ? 'a text' : { a: 'map' };
    expect(validate(saying(at, wrong))).toBe(false);
  });

  it.each<[string, Values, RegExp]>([
    ['a service that is not there', { services: { caht: {} } }, /'\/services'.*'caht'/],
    [
      'a misspelt setting of a service',
      { services: { chat: { replica: 3 } } },
      /'\/services\/chat'.*'replica'/,
    ],
    ['a misspelt value at the top', { ingres: { enabled: true } }, /'ingres'/],
    ['a number as text', { defaults: { replicas: '3' } }, /'\/defaults\/replicas'/],
    ['a port of nodes for a Service inside', { service: { nodePort: 30080 } }, /'\/service\/nodePort'/],
    [
      'traffic from outside for a Service inside',
      { service: { externalTrafficPolicy: 'Local' } },
      /'\/service\/externalTrafficPolicy'/,
    ],
    [
      'ranges of a load balancer without one',
      { service: { type: 'NodePort', loadBalancerSourceRanges: ['192.0.2.0/24'] } },
      /'\/service\/loadBalancerSourceRanges'/,
    ],
    [
      'a class of load balancer without one',
      { service: { type: 'NodePort', loadBalancerClass: 'example.com/internal' } },
      /'\/service\/loadBalancerClass'/,
    ],
    [
      'pods that are new for longer than a rollout may stand still',
      { services: { chat: { minReadySeconds: 600 } } },
      /'\/services\/chat\/minReadySeconds'/,
    ],
    ['an Ingress without a host', { ingress: { enabled: true } }, /'\/ingress\/hosts'/],
    ['a route without a Gateway', { httpRoute: { enabled: true } }, /'\/httpRoute\/parentRefs'/],
    [
      'a label that YAML takes for a truth value',
      { defaults: { labels: { on: true } } },
      /'\/defaults\/labels\/on'/,
    ],
    ['a broker without a port', { kafka: { brokers: ['kafka'] } }, /'\/kafka\/brokers\/0'/],
  ])('make Helm refuse %s by its name', (_name, values, words) => {
    expect(refusal({ ...required, ...values })).toMatch(words);
  });

  it('know each service, and a schema that knows no value beyond them', () => {
    const known = [...serviceNames, 'composed'].sort();
    expect(Object.keys(defaults.services as Values)).toEqual(known);
    const schema = chartFile('values.schema.json') as {
      properties: Values & { services: { properties: Values } };
      definitions: { service: { properties: Values } };
    };
    expect(Object.keys(schema.properties.services.properties)).toEqual(known);
    // `global` is Helm's own, for charts within charts.
    expect(Object.keys(schema.properties).sort()).toEqual([...Object.keys(defaults), 'global'].sort());
    expect(Object.keys(schema.definitions.service.properties).sort()).toEqual(
      Object.keys(defaults.defaults as Values).sort(),
    );
  });
});

describe('the chart', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'gatehouse-chart-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(Object.entries(combinations))('passes `helm lint --strict` with %s', (_name, values) => {
    const sets = Object.entries({ ...required, ...values }).flatMap(([key, value]) => [
      '--set-json',
      `${key}=${JSON.stringify(value)}`,
    ]);
    expect(runHelm('lint', '--strict', chart, ...sets)).toContain('0 chart(s) failed');
  });

  it('makes the same of its package as of its folder', () => {
    runHelm('package', chart, '--destination', folder);
    const [file = ''] = readdirSync(folder);
    const values = { monitoring: combinations.monitoring?.monitoring };
    expect(render(values, path.join(folder, file))).toEqual(render(values));
  });

  it('has the version of what it installs', () => {
    const { version } = JSON.parse(readFileSync(path.join(chart, '../../package.json'), 'utf8')) as {
      version: string;
    };
    expect(chartFile('Chart.yaml')).toMatchObject({ version, appVersion: version });
  });
});
