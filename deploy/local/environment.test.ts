import { describe, expect, it } from '@jest/globals';
import { serviceEnvironment } from './environment.ts';
import { planReplicas } from './topology.ts';

const replicas = await planReplicas({
  port: 8080,
  replicas: new Map([
    ['edge', 2],
    ['chat', 3],
  ]),
});

function environmentOf(
  name: string,
  provider: Record<string, string> = {},
  kafkaBrokers?: string,
  all = replicas,
): Record<string, string> {
  const replica = all.find((candidate) => candidate.name === name);
  if (replica === undefined) throw new Error(`there is no ${name}`);
  const services = ['edge', 'tenant', 'agent', 'chat'];
  return serviceEnvironment(replica, {
    replicas: all,
    secrets: {
      databasePasswords: Object.fromEntries(services.map((service) => [service, `password-${service}`])),
      privateKeys: Object.fromEntries(services.map((service) => [service, `private-${service}`])),
      publicKeys: 'public',
      keyRing: 'local:key',
    },
    database: {
      adminUrl: (database) => `postgres://postgres:super@127.0.0.1:5/${database}`,
      passwords: Object.fromEntries(services.map((service) => [service, `password-${service}`])),
    },
    modelsFile: '/models.yaml',
    issuerSecrets: ['LOGIN_SECRET'],
    url: 'http://127.0.0.1:8080',
    tls: { cert: '/tls.crt', key: '/tls.key' },
    caller: {
      PATH: '/bin',
      OTEL_SERVICE: 'x',
      OPENAI_API_KEY: 'sk-secret',
      PGPASSWORD: 'p',
      LOGIN_SECRET: 'of-client',
    },
    provider,
    kafkaBrokers,
  });
}

describe('the environment of a process that runs all services', () => {
  it('has the secrets of each under a name of its own, and no addresses of peers', async () => {
    const planned = await planReplicas({ port: 8080, replicas: new Map([['all', 2]]) });
    expect(planned.map(({ name, ports }) => [name, ports.http])).toEqual([
      ['gatehouse-1', 8080],
      ['gatehouse-2', 8081],
    ]);
    const environment = environmentOf('gatehouse-1', {}, undefined, planned);
    expect(environment).toMatchObject({
      ASSERTION_PRIVATE_KEY_CHAT: 'private-chat',
      DATABASE_URL_TENANT: 'postgres://tenant_login:password-tenant@127.0.0.1:5/gatehouse',
      SECRETS_KEYRING: 'local:key',
      GATEHOUSE_MODELS: '/models.yaml',
      CHAT_GRPC: '',
      DRAIN_DELAY_MS: '1500',
    });
    expect(environment).not.toHaveProperty('DATABASE_URL');
    expect(environment).not.toHaveProperty('GRPC_PORT');
  });
});

describe('the environment of a service', () => {
  it('names the files of the certificate to edges alone', () => {
    expect(environmentOf('edge-2')).toMatchObject({ TLS_CERT: '/tls.crt', TLS_KEY: '/tls.key' });
    expect(environmentOf('chat-1')).not.toHaveProperty('TLS_KEY');
  });

  it('gives further edges the next ports, and every process ports of its own', () => {
    expect(environmentOf('edge-1')['HTTP_PORT']).toBe('8080');
    expect(environmentOf('edge-2')['HTTP_PORT']).toBe('8081');
    const ports = replicas.flatMap((replica) => Object.values(replica.ports));
    expect(new Set(ports).size).toBe(ports.length);
  });

  it('lists all processes of a peer', () => {
    const { CHAT_HTTP, CHAT_GRPC, TENANT_GRPC } = environmentOf('edge-1');
    expect(CHAT_HTTP).toMatch(/^127\.0\.0\.1:\d+,127\.0\.0\.1:\d+,127\.0\.0\.1:\d+$/);
    expect(CHAT_GRPC?.split(',')).toHaveLength(3);
    expect(TENANT_GRPC).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(environmentOf('edge-1')).not.toHaveProperty('EDGE_GRPC');
  });

  it('lets a process drain before it stops, if others can take its requests', () => {
    expect(environmentOf('chat-2')).toMatchObject({ DRAIN_DELAY_MS: '1500', DRAIN_TIMEOUT_MS: '10000' });
    expect(environmentOf('tenant-1')).toMatchObject({ DRAIN_DELAY_MS: '0' });
  });

  it('holds its own secrets and no others', () => {
    const tenant = environmentOf('tenant-1');
    expect(tenant).toMatchObject({
      ASSERTION_PRIVATE_KEY: 'private-tenant',
      ASSERTION_PUBLIC_KEYS: 'public',
      DATABASE_URL: 'postgres://tenant_login:password-tenant@127.0.0.1:5/gatehouse',
      SECRETS_KEYRING: 'local:key',
    });
    expect(JSON.stringify(tenant)).not.toMatch(/super|sk-secret|private-edge|password-chat/);
    expect(environmentOf('edge-1')).not.toHaveProperty('SECRETS_KEYRING');
    expect(environmentOf('edge-1')).not.toHaveProperty('DATABASE_URL');
    expect(environmentOf('agent-1')['SECRETS_KEYRING']).toBe('local:key');
  });

  it('gives secrets of issuers to tenant alone, and to chat with the rest', () => {
    expect(environmentOf('tenant-1')['LOGIN_SECRET']).toBe('of-client');
    for (const name of ['edge-1', 'agent-1']) expect(environmentOf(name)).not.toHaveProperty('LOGIN_SECRET');
  });

  it("gives chat the caller's whole environment, for the catalogue may name any variable", () => {
    expect(environmentOf('chat-1')).toMatchObject({ OPENAI_API_KEY: 'sk-secret', PGPASSWORD: 'p' });
    const simulated = environmentOf('chat-2', { OPENAI_API_KEY: 'simulator' });
    expect(simulated['OPENAI_API_KEY']).toBe('simulator');
  });

  it('names the brokers of Kafka to every service where there are any', () => {
    for (const { name } of replicas) {
      expect(environmentOf(name, {}, '127.0.0.1:9')['KAFKA_BROKERS']).toBe('127.0.0.1:9');
      expect(environmentOf(name)).not.toHaveProperty('KAFKA_BROKERS');
    }
  });

  it('passes on what is no secret', () => {
    expect(environmentOf('tenant-1')).toMatchObject({ PATH: '/bin', OTEL_SERVICE: 'x' });
    expect(environmentOf('tenant-1')).not.toHaveProperty('PGPASSWORD');
  });
});
