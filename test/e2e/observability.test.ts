import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { services } from '@gatehouse/contract/services';
import { repositoryRoot } from '@gatehouse/local/settings';
import { InternalFiles, testAuthority } from '@gatehouse/test/certificates';
import { eventually } from '@gatehouse/test/eventually';
import { readExposition, type Exposed } from '@gatehouse/test/exposition';
import { TestGateway } from '@gatehouse/test/gateway';
import { withoutKafka } from '@gatehouse/test/kafka';
import { makeTopics } from '@gatehouse/test/kafka-topics';
import { readQuery, type Matcher, type Query, type Selector } from '@gatehouse/test/promql';
import { parse } from 'yaml';

interface Panel {
  title: string;
  type: string;
  targets?: { expr: string; legendFormat: string }[];
}
interface Dashboard {
  panels: Panel[];
  templating: { list: { name: string; definition?: string }[] };
}
interface Alert {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: Record<'summary' | 'description' | 'runbook_url', string>;
}

const read = (file: string): string => readFileSync(path.join(repositoryRoot, file), 'utf8');
const dashboard = JSON.parse(read('deploy/observability/dashboards/gatehouse.json')) as Dashboard;
const { groups } = parse(read('deploy/observability/alerts.yaml')) as { groups: { rules: Alert[] }[] };
const alerts = groups.flatMap(({ rules }) => rules);

/** The parts of a result that a person sees: texts with names of labels in them. */
interface Shown {
  name: string;
  expr: string;
  labels: string[];
}
const shown: Shown[] = [
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({
      name: `the panel ${title}: ${legendFormat}`,
      expr: inGrafana(expr),
      labels: Array.from(legendFormat.matchAll(/\{\{\s*(\w+)\s*\}\}/g), ([, label = '']) => label),
    })),
  ),
  ...alerts.map(({ alert, expr, annotations }) => ({
    name: `the alert ${alert}`,
    expr,
    labels: Array.from(
      Object.values(annotations)
        .join(' ')
        .matchAll(/\$labels\.(\w+)/g),
      ([, label = '']) => label,
    ),
  })),
];

/** With the values that Grafana puts in place of its variables. */
function inGrafana(expr: string): string {
  return expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$(namespace|service)\b/g, '.*');
}

/** Labels that Prometheus, discovering pods, adds to all that it reads. */
const targetLabels = ['namespace', 'pod', 'instance'];
/** Metrics that Kubernetes itself exposes: kube-state-metrics, and cAdvisor in the kubelet. */
const ofKubernetes: Exposed = new Map([
  ['kube_deployment_status_replicas_unavailable', labelled({ deployment: [] })],
  ['kube_pod_container_resource_limits', labelled({ container: [], resource: ['cpu', 'memory'] })],
  ['container_memory_working_set_bytes', labelled({ container: [] })],
]);
function labelled(labels: Record<string, string[]>): Map<string, Set<string>> {
  return new Map(Object.entries(labels).map(([label, values]) => [label, new Set(values)]));
}

const noKafka = await withoutKafka();
let gateway: TestGateway;
let exposed: Exposed;
let folder: string;

// Everything that makes a series: answers and streams, each kind of failure, refusals, an outage.
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'observability-'));
  const OIDC_ISSUERS = path.join(folder, 'issuers.yaml');
  await writeFile(
    OIDC_ISSUERS,
    'issuers: [{ name: main, issuer: https://issuer.example.com, client_id: c, owner_groups: [ops] }]',
  );
  const names = services.map(({ name }) => name);
  const files = await InternalFiles.ofServices(folder, await testAuthority(), names);
  gateway = await TestGateway.start({
    separate: true,
    environment: (service) => ({
      ...files.get(service)?.settings,
      OIDC_ISSUERS,
      PUBLIC_URL: 'https://gateway.example.com',
    }),
    ...(noKafka === undefined && { kafka: await makeTopics() }),
  });
  const { userKey, adminKey } = await gateway.makeTenant();
  const limits = { requests_per_minute: 2 };
  const limited = await gateway.makeTenant({ limits, budget: { usd: '1', period: 'day' } });
  await gateway.call('/v1/agents', { key: adminKey, body: { key: 'bot', model: 'small' } });
  const statusOf = async (fields: Record<string, unknown>, key: string = userKey): Promise<number> => {
    const body = { model: 'small', messages: [{ role: 'user', content: 'x' }], ...fields };
    return (await gateway.call('/v1/chat/completions', { key, body })).status;
  };
  expect(await statusOf({})).toBe(200);
  expect(await statusOf({ model: 'agent:bot', stream: true })).toBe(200);
  const tools = { builtin: ['memory_search', 'web_fetch'] };
  await gateway.call('/v1/agents', { key: adminKey, body: { key: 'acting', model: 'small', tools } });
  const tool_calls = [
    { name: 'memory_search', arguments: { query: 'x' } },
    { name: 'memory_search', arguments: {} },
    { name: 'web_fetch', arguments: { url: 'https://10.0.0.1/' } },
  ];
  expect(await statusOf({ model: 'agent:acting', x_simulator: { tool_calls } })).toBe(200);
  expect(await statusOf({ model: 'refusing' })).toBe(502);
  expect(await statusOf({ model: 'pooled' })).toBe(200);
  expect(await statusOf({ model: 'impatient', x_simulator: { status: 401 } })).toBe(502);
  expect(await statusOf({}, 'gwk_unknown')).toBe(401);
  expect((await gateway.call('/v1/webhooks/llm', { body: { input: 'x' } })).status).toBe(401);
  await eventually(async () => expect(await statusOf({ model: 'priced' }, limited.userKey)).toBe(429));
  const policed = await gateway.makeTenant();
  const few = { name: 'few', limits: { requests_per_minute: 1 } };
  expect((await gateway.call('/v1/policies', { key: policed.adminKey, body: few })).status).toBe(201);
  await eventually(async () => expect(await statusOf({}, policed.userKey)).toBe(429));
  await eventually(async () => {
    exposed = await scrape();
    expect(exposed.get('gatehouse_rpc_duration_seconds_count')?.get('method')).toContain('settle');
    expect(exposed.get('gatehouse_consumer_lag_messages')?.has('partition') ?? true).toBe(true);
    expect(exposed.get('gatehouse_jobs_oldest_age_seconds')?.get('service')).toContain('webhook');
  });
  await gateway.stopMember('tenant-1');
  expect(
    await statusOf(
      {},
      adminKey.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
    ),
  ).toBe(503);
  await eventually(async () => expect(await statusOf({ model: 'priced' }, limited.userKey)).toBe(503));
  exposed = new Map([...exposed, ...(await scrape())]);
});
afterAll(async () => {
  await gateway.stop();
  await rm(folder, { recursive: true });
}, 30_000);

async function scrape(): Promise<Exposed> {
  const members = ['tenant-1', 'agent-1', 'analytics-1', 'memory-1', 'chat-1', 'webhook-1', 'edge-1'];
  const texts = await Promise.allSettled(members.map((name) => gateway.metrics(name)));
  return readExposition(texts.flatMap((text) => (text.status === 'fulfilled' ? [text.value] : [])));
}

/** Metrics, labels and values of a query that no process and no part of Kubernetes has. */
function unknownIn({ selectors, groupings }: Pick<Query, 'selectors' | 'groupings'>): string[] {
  return [
    ...selectors.flatMap((selector) => unknownOf(selector)),
    ...groupings.flatMap(({ labels, selectors: grouped }) =>
      labels.flatMap((label) =>
        grouped
          .filter((selector) => !labelsOf(selector).includes(label))
          .map(({ metric }) => `${metric} by ${label}`),
      ),
    ),
  ];
}

function unknownOf(selector: Selector): string[] {
  const { metric, matchers } = selector;
  const seen = exposed.get(metric) ?? ofKubernetes.get(metric);
  if (seen === undefined) return [metric];
  return matchers
    .filter(
      (matcher) => !labelsOf(selector).includes(matcher.label) || !canMatch(matcher, seen.get(matcher.label)),
    )
    .map(({ label, operator, value }) => `${metric}{${label}${operator}"${value}"}`);
}

function labelsOf({ metric }: Selector): string[] {
  return [...targetLabels, ...((exposed.get(metric) ?? ofKubernetes.get(metric))?.keys() ?? [])];
}

/** A value that is matched against a label's values must be one of them; an excluded one need not be. */
function canMatch({ operator, value }: Matcher, seen: ReadonlySet<string> | undefined): boolean {
  if (operator.startsWith('!') || seen === undefined) return true;
  const pattern = new RegExp(`^(?:${value})$`);
  return operator === '=' ? seen.has(value) : [...seen].some((each) => pattern.test(each));
}

describe('queries', () => {
  const readsKafka = ({ expr }: Shown): boolean => expr.includes('gatehouse_consumer_');
  const [here, elsewhere] = [
    shown.filter((each) => noKafka === undefined || !readsKafka(each)),
    shown.filter((each) => noKafka !== undefined && readsKafka(each)),
  ];

  it.each(here)('of $name read what the services show', ({ expr, labels }) => {
    const query = readQuery(expr);
    expect(query.selectors).not.toEqual([]);
    expect(unknownIn(query)).toEqual([]);
    const kept = [...query.groupings.flatMap((grouping) => grouping.labels), ...query.bare.flatMap(labelsOf)];
    expect(kept).toEqual(expect.arrayContaining(labels));
  });

  for (const { name } of elsewhere)
    it.skip(`of ${name} read what the services show: ${noKafka}`, () => undefined);

  it('of the variables read what the services show', () => {
    const queries = dashboard.templating.list.flatMap(({ definition }) => definition ?? []);
    expect(queries).toHaveLength(2);
    for (const definition of queries) {
      const [, selector = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(inGrafana(definition)) ?? [];
      const { selectors } = readQuery(selector);
      expect(unknownIn({ selectors, groupings: [{ labels: [label], selectors }] })).toEqual([]);
    }
  });

  it.each([
    ['sum(rate(gatehouse_run_durations_seconds_count[5m]))', 'gatehouse_run_durations_seconds_count'],
    ['gatehouse_runs_open{servise="chat"}', 'gatehouse_runs_open{servise="chat"}'],
    ['gatehouse_runs_open{service="chats"}', 'gatehouse_runs_open{service="chats"}'],
    ['gatehouse_runs_open{service=~"chats?s"}', 'gatehouse_runs_open{service=~"chats?s"}'],
    ['sum by (provder) (gatehouse_provider_breaker_open)', 'gatehouse_provider_breaker_open by provder'],
    ['gatehouse_runs_open / on (route) gatehouse_runs_open', 'gatehouse_runs_open by route'],
  ])('are found out where they are misspelt: %s', (expr, unknown) => {
    expect(unknownIn(readQuery(expr))).toContain(unknown);
  });

  it.each(['sum(rate(up[5m])', 'sum by namespace (up)', 'up{job=edge}', 'rate(up[5x])'])(
    'are found out where they are no PromQL: %s',
    (expr) => {
      expect(() => readQuery(expr)).toThrow('not PromQL');
    },
  );
});

describe('the dashboard', () => {
  it('has a query and a title in every panel, and no two alike', () => {
    const panels = dashboard.panels.filter(({ type }) => type !== 'row');
    expect(panels.filter(({ targets = [] }) => targets.length === 0)).toEqual([]);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
  });
});

describe('the alert', () => {
  const page = read('docs/operators/alerts.md');

  it.each(alerts)('$alert says how bad it is, since when, and what to do', (alert) => {
    expect(['critical', 'warning']).toContain(alert.labels.severity);
    expect(alert.for).toMatch(/^\d+[mh]$/);
    expect(alert.annotations).toEqual({
      summary: expect.any(String),
      description: expect.any(String),
      runbook_url: `docs/operators/alerts.md#${alert.alert.toLowerCase()}`,
    });
    // The heading that GitHub and others make this anchor of, with something below it.
    expect(page).toMatch(new RegExp(`^## ${alert.alert}\n\n\\S`, 'm'));
  });

  it('of every section is one that there is', () => {
    const sections = Array.from(page.matchAll(/^## (Gatehouse\w+)$/gm), ([, name]) => name);
    expect(sections).toEqual(alerts.map(({ alert }) => alert));
  });
});
