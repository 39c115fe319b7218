import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig as loadChatConfig } from '@gatehouse/service-chat/config';
import { render, serviceNames, type Values } from './helm.ts';
import { environmentOf, named, servicePods, type Manifest } from './manifests.ts';
import { settingsOf, type Environment } from './service-settings.ts';

/** Values that the Secret could hold. */
const secretValues: Environment = {
  ASSERTION_PRIVATE_KEY: '{}',
  ASSERTION_PUBLIC_KEYS: '{"keys":[]}',
  SECRETS_KEYRING: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
  DATABASE_URL: 'postgres://chat_login:x@db/gatehouse',
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-chart-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** The environment that a service's process would find; chat's catalogue is in a file. */
async function environment(service: string, manifests: readonly Manifest[]): Promise<Environment> {
  const { values, secrets } = environmentOf(servicePods(manifests).get(service)?.containers[0]);
  const found = { ...values };
  for (const name of Object.keys(secrets)) found[name] = secretValues[name] ?? '';
  if (found.GATEHOUSE_MODELS === undefined) return found;
  const catalogue = named(manifests, 'ConfigMap', 'gatehouse-models').data?.['models.yaml'] ?? '';
  await writeFile(path.join(folder, 'models.yaml'), catalogue);
  return { ...found, GATEHOUSE_MODELS: path.join(folder, 'models.yaml') };
}

const every: Values = {
  logLevel: 'debug',
  publicUrl: 'https://gateway.example.com',
  trustedProxies: ['10.0.0.0/8', '::1'],
  corsOrigins: ['https://app.example.com', 'http://localhost:3000'],
  requestBodies: { bytesPerTenant: 67108864, bytesPerProcess: 134217728 },
  unreadSeconds: 90,
  egress: { allow: ['hooks.internal', '10.0.0.0/8'] },
  webhooks: { allowToken: true },
  kafka: { brokers: ['kafka-0:9092', 'kafka-1:9092'], prefix: 'gw.' },
  otel: { endpoint: 'http://collector:4318' },
  services: { chat: { databasePool: 25, drainDelaySeconds: 7, drainSeconds: 90 } },
};

describe.each(serviceNames)('%s', (service) => {
  it.each([
    ['as it is', {}],
    ['with every setting', every],
  ])(
    'starts with what the chart gives it, and is given nothing that it does not know: %s',
    async (_name, values) => {
      const given = await environment(service, render(values));
      const config = await settingsOf[service]?.(given);
      expect(Object.keys(config ?? {})).toEqual(expect.arrayContaining(Object.keys(given)));
    },
  );
});

describe('settings', () => {
  it('say what the values say', async () => {
    const manifests = render(every);
    expect(await environment('chat', manifests)).toMatchObject({
      LOG_LEVEL: 'debug',
      KAFKA_BROKERS: 'kafka-0:9092,kafka-1:9092',
      KAFKA_PREFIX: 'gw.',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
      DATABASE_POOL: '25',
      DRAIN_DELAY_MS: '7000',
      DRAIN_TIMEOUT_MS: '90000',
      BODY_BYTES_PER_TENANT: '67108864',
      BODY_BYTES_PER_PROCESS: '134217728',
      UNREAD_TIMEOUT_MS: '90000',
      TENANT_GRPC: 'dns:///gatehouse-tenant-headless.gateway.svc:9000',
    });
    expect(await environment('edge', manifests)).toMatchObject({
      TRUSTED_PROXIES: '10.0.0.0/8,::1',
      CORS_ORIGINS: 'https://app.example.com,http://localhost:3000',
      CHAT_HTTP: 'dns:///gatehouse-chat-headless.gateway.svc:8080',
    });
    const webhook = await environment('webhook', manifests);
    expect(webhook).toMatchObject({
      EGRESS_ALLOW: 'hooks.internal,10.0.0.0/8',
      WEBHOOK_ALLOW_TOKEN: '1',
      PUBLIC_URL: 'https://gateway.example.com',
    });
    expect(await environment('webhook', render())).not.toHaveProperty('WEBHOOK_ALLOW_TOKEN');
    // For the list of prices that the catalogue names.
    expect(await environment('chat', manifests)).toMatchObject({ EGRESS_ALLOW: 'hooks.internal,10.0.0.0/8' });
    expect(await environment('tenant', manifests)).not.toHaveProperty('EGRESS_ALLOW');
  });

  it('name the issuers to tenant alone, with the hosts that their metadata may name', () => {
    const issuers = [{ name: 'main', issuer: 'https://login.example.com', client_id: 'gatehouse' }];
    const manifests = render({ ...every, login: { issuers, existingSecret: 'issuers' } });
    const containerOf = (service: string) => servicePods(manifests).get(service)?.containers[0];
    const variablesOf = (service: string) => Object.keys(environmentOf(containerOf(service)).values);
    expect(variablesOf('tenant')).toEqual(expect.arrayContaining(['OIDC_ISSUERS', 'EGRESS_ALLOW']));
    expect(containerOf('tenant')?.envFrom).toContainEqual({ secretRef: { name: 'issuers' } });
    expect(variablesOf('agent')).not.toContain('OIDC_ISSUERS');
    expect(named(manifests, 'ConfigMap', 'gatehouse-issuers').data?.['issuers.yaml']).toContain(
      'login.example.com',
    );
  });

  it('name no Kafka where there is none', () => {
    for (const { containers } of servicePods(render()).values()) {
      expect(
        Object.keys(environmentOf(containers[0]).values).filter((name) => name.startsWith('KAFKA')),
      ).toEqual([]);
    }
  });
});

describe('the catalogue', () => {
  const own = {
    providers: [{ name: 'own', kind: 'openai', base_url: 'http://vllm.ai:8000/v1' }],
    models: [{ id: 'fast', provider: 'own', price: { input_per_mtok: '0.10', output_per_mtok: '0.20' } }],
  };
  const templatesOf = (values: Values) =>
    new Map(
      serviceNames.map((name) => [
        name,
        named(render(values), 'Deployment', `gatehouse-${name}`).spec?.template,
      ]),
    );

  it('is the one of the values, as chat reads it', async () => {
    const given = await environment('chat', render({ models: { catalogue: own } }));
    const { catalogue } = await loadChatConfig(given);
    expect([...catalogue.models.keys()]).toEqual(['fast']);
    expect(catalogue.models.get('fast')?.price?.input_per_mtok).toBe('0.10');
  });

  it('rolls no pod when it changes: chat reads it again, from a folder whose files Kubernetes replaces', () => {
    const after = render({ models: { catalogue: own } });
    expect(templatesOf({ models: { catalogue: own } })).toEqual(templatesOf({}));
    expect(named(after, 'ConfigMap', 'gatehouse-models').data?.['models.yaml']).toContain('vllm.ai');
    const mounts = servicePods(after).get('chat')?.containers[0]?.volumeMounts;
    expect(mounts?.filter((mount) => 'subPath' in mount)).toEqual([]);
  });

  it('is the operator’s own where they name one', () => {
    const manifests = render({ models: { existingConfigMap: 'our-models' } });
    expect(manifests.map(({ kind }) => kind)).not.toContain('ConfigMap');
    const volumes = servicePods(manifests).get('chat')?.spec.volumes;
    expect(volumes).toEqual([{ name: 'catalogue', configMap: { name: 'our-models' } }]);
  });

  it('is mounted where chat looks for it, and the providers’ keys reach chat alone', () => {
    const pods = servicePods(render({ providers: { existingSecret: 'provider-keys' } }));
    const chat = pods.get('chat')?.containers[0];
    const folderOfCatalogue = path.dirname(environmentOf(chat).values.GATEHOUSE_MODELS ?? '');
    expect(chat?.volumeMounts).toEqual([{ name: 'catalogue', mountPath: folderOfCatalogue, readOnly: true }]);
    expect(chat?.envFrom).toEqual([{ secretRef: { name: 'provider-keys' } }]);
    for (const [name, pod] of pods) if (name !== 'chat') expect(pod.containers[0]?.envFrom).toBeUndefined();
  });
});
