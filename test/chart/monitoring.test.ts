import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { repositoryRoot } from '@gatehouse/local/settings';
import { chartFile, render } from './helm.ts';
import { named, ofKind, selects } from './manifests.ts';

const everything = {
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  prometheusRule: { enabled: true },
  dashboards: { enabled: true },
};

describe('monitoring', () => {
  const manifests = render({ monitoring: everything });

  it('is off unless switched on, since a cluster may not know its kinds', () => {
    const kinds = render().map(({ kind }) => kind);
    expect(kinds).not.toContain('ServiceMonitor');
    expect(kinds).not.toContain('PrometheusRule');
    expect(kinds.filter((kind) => kind === 'ConfigMap')).toHaveLength(1);
  });

  it('scrapes each pod once, by the headless Services, and keeps what services call themselves', () => {
    const { metadata, spec } = named(manifests, 'ServiceMonitor', 'gatehouse');
    expect(metadata?.labels).toMatchObject({ release: 'prometheus' });
    const [endpoint, ...more] = spec.endpoints;
    expect(more).toEqual([]);
    expect(endpoint).toMatchObject({ port: 'admin', path: '/metrics', honorLabels: true });
    const scraped = ofKind(manifests, 'Service').filter(
      (service) =>
        selects(spec.selector.matchLabels, service.metadata?.labels ?? {}) &&
        service.spec?.ports?.some(({ name }) => name === endpoint?.port) === true,
    );
    const pods = scraped.map((service) => service.spec?.selector?.['app.kubernetes.io/component']);
    expect(pods).toEqual(['agent', 'analytics', 'chat', 'edge', 'memory', 'tenant', 'webhook']);
  });

  it('leads from each alert to its section, where the operator says where the documents are', () => {
    const runbookUrl = 'https://git.example.com/gatehouse/blob/main/';
    const prometheusRule = { enabled: true, runbookUrl };
    const { spec } = named(render({ monitoring: { prometheusRule } }), 'PrometheusRule', 'gatehouse');
    const rules = spec.groups?.flatMap((group) => group.rules ?? []) ?? [];
    expect(rules.length).toBeGreaterThan(0);
    for (const { alert = '', annotations } of rules.filter((rule) => rule.alert !== undefined)) {
      expect(annotations?.runbook_url).toBe(`${runbookUrl}docs/operators/alerts.md#${alert.toLowerCase()}`);
    }
  });

  it('brings the alerts and dashboards of deploy/observability as they are', () => {
    expect(named(manifests, 'PrometheusRule', 'gatehouse').spec).toEqual(
      chartFile('observability/alerts.yaml'),
    );
    const folder = path.join(repositoryRoot, 'deploy/observability/dashboards');
    const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
    const dashboards = ofKind(manifests, 'ConfigMap').filter(
      ({ metadata }) => metadata?.labels?.grafana_dashboard === '1',
    );
    expect(files.length).toBeGreaterThan(0);
    expect(dashboards).toHaveLength(files.length);
    for (const file of files) {
      const found = dashboards.find(({ data }) => data?.[file] !== undefined)?.data?.[file] ?? 'null';
      expect(JSON.parse(found)).toEqual(JSON.parse(readFileSync(path.join(folder, file), 'utf8')));
    }
  });
});
