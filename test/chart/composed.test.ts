import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { environmentOf as settingsFor } from '@gatehouse/composed/environment';
import type { ServiceName } from '@gatehouse/contract/services';
import { refusal, render, required, serviceNames, topology } from './helm.ts';
import { environmentOf, named, ofKind, podsOf, servicePods } from './manifests.ts';
import { settingsOf, type Environment } from './service-settings.ts';

/** All services in the processes of one Deployment. */

const manifests = render({
  composed: true,
  egress: { allow: ['hooks.internal'] },
  kafka: { brokers: ['kafka:9092'], prefix: 'gw.' },
  publicUrl: 'https://gateway.example.com',
});
const pod = servicePods(manifests).get('composed');
const names = serviceNames as ServiceName[];

/** A value that the Secret could hold. */
const secretValue = (name: string): string => {
  if (name.startsWith('DATABASE_URL')) return 'postgres://login:x@db/gatehouse';
  if (name === 'SECRETS_KEYRING') return `k1:${Buffer.alloc(32, 1).toString('base64')}`;
  return '{}';
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-chart-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('one Deployment for all services', () => {
  it('gives each service the settings that it needs, and nothing that none of them knows', async () => {
    const { values, secrets } = environmentOf(pod?.containers[0]);
    const models = path.join(folder, 'models.yaml');
    await writeFile(models, named(manifests, 'ConfigMap', 'gatehouse-models').data?.['models.yaml'] ?? '');
    const given: Environment = { ...values, GATEHOUSE_MODELS: models };
    for (const name of Object.keys(secrets)) given[name] = secretValue(name);
    const known = new Set<string>();
    for (const name of names) {
      const own = settingsFor(name, names, given) as Environment;
      const config = (await settingsOf[name]?.(own)) ?? {};
      expect(config).toMatchObject({ HTTP_PORT: 8080, ADMIN_PORT: 9090, ASSERTION_PRIVATE_KEY: '{}' });
      if (topology[name]?.database === true) expect(config).toMatchObject({ DATABASE_POOL: 2 });
      for (const key of Object.keys(config)) known.add(key);
    }
    const suffix = new RegExp(`_(${names.join('|').toUpperCase()})$`);
    const isKnown = (name: string): boolean => known.has(name) || known.has(name.replace(suffix, ''));
    expect(Object.keys(given).filter((name) => !isKnown(name))).toEqual([]);
  });

  it('has one pod less during a rollout, so that PostgreSQL has enough connections', () => {
    const { strategy, replicas } = named(manifests, 'Deployment', 'gatehouse-composed').spec ?? {};
    expect(strategy?.rollingUpdate).toEqual({ maxSurge: 0, maxUnavailable: 1 });
    expect(replicas).toBe(2);
    const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 };
    const single = render({ composed: true, services: { composed: { replicas: 1, rollingUpdate } } });
    expect(named(single, 'Deployment', 'gatehouse-composed').spec?.strategy?.rollingUpdate).toEqual(
      rollingUpdate,
    );
  });

  it('is what clients reach, and calls no other pod', () => {
    const { spec } = named(manifests, 'NetworkPolicy', 'gatehouse-composed');
    expect(spec?.ingress).toEqual([{ ports: [{ protocol: 'TCP', port: 8080 }] }]);
    const peers = (spec?.egress ?? []).flatMap(({ to }) => to ?? []);
    expect(peers).toEqual([]);
    expect(ofKind(manifests, 'Deployment')).toHaveLength(1);
    const [route] = ofKind(
      render({ composed: true, ingress: { enabled: true, hosts: ['a.example'] } }),
      'Ingress',
    );
    expect(route?.spec?.rules?.[0]?.http?.paths[0]?.backend.service?.name).toBe('gatehouse-edge');
  });

  it('has pools of its own size, and no database of its own beside those of its services', () => {
    const poolOf = (values: object): string | undefined => {
      const [container] =
        servicePods(render({ composed: true, ...values })).get('composed')?.containers ?? [];
      return environmentOf(container).values['DATABASE_POOL'];
    };
    expect(poolOf({})).toBeUndefined();
    expect(poolOf({ services: { composed: { databasePool: 4 } } })).toBe('4');
    const own = { ownDatabase: { existingSecret: 'another' } };
    expect(refusal({ ...required, composed: true, services: { composed: own } })).toContain(
      'services.composed.ownDatabase: set it for each service',
    );
  });

  it('migrates the schema of each service with the same image', () => {
    const migrations = podsOf(manifests).find(({ component }) => component === 'migrations');
    const migrated = migrations?.containers.map(({ name, args, image }) => [name, args, image]);
    expect(migrated?.toSorted()).toEqual(
      names
        .filter((name) => topology[name]?.database === true)
        .map((name) => [name, [`../../services/${name}/src/migrate.js`], pod?.containers[0]?.image]),
    );
    for (const container of migrations?.containers ?? [])
      expect(environmentOf(container).secrets['DATABASE_URL']).toMatch(
        new RegExp(`/DATABASE_URL_${container.name.toUpperCase()}$`),
      );
  });
});
