import { describe, expect, it } from '@jest/globals';
import { loadSettings, repositoryRoot } from './settings.ts';

describe('the settings of make up', () => {
  it('have defaults for everything', () => {
    const settings = loadSettings({});
    expect(settings).toMatchObject({
      port: 8080,
      stateFolder: `${repositoryRoot}/.gatehouse`,
      modelsFile: `${repositoryRoot}/deploy/local/models.yaml`,
      simulated: true,
      kafka: false,
      kafkaBrokers: undefined,
      inspect: undefined,
    });
    expect(Object.fromEntries(settings.replicas)).toEqual({ all: 1 });
  });

  it('take the number of processes that run all services', () => {
    const { replicas } = loadSettings({ GATEHOUSE_REPLICAS: 'all=3', GATEHOUSE_PROCESSES: 'one' });
    expect(Object.fromEntries(replicas)).toEqual({ all: 3 });
  });

  it('give each service a process where that is asked for', () => {
    const { replicas } = loadSettings({ GATEHOUSE_PROCESSES: 'separate' });
    expect(Object.fromEntries(replicas)).toEqual({
      tenant: 1,
      agent: 1,
      analytics: 1,
      memory: 1,
      chat: 1,
      webhook: 1,
      edge: 1,
    });
  });

  it.each([
    { GATEHOUSE_REPLICAS: 'all=2,chat=3' },
    { GATEHOUSE_REPLICAS: 'all=2', GATEHOUSE_PROCESSES: 'separate' },
    { GATEHOUSE_REPLICAS: 'chat=2', GATEHOUSE_PROCESSES: 'one' },
  ])('refuse processes of both kinds: %o', (environment) => {
    expect(() => loadSettings(environment)).toThrow('GATEHOUSE_REPLICAS names either all');
  });

  it('take a certificate with its key, or neither', () => {
    expect(loadSettings({ TLS_CERT: 'tls.crt', TLS_KEY: '/tls.key' }).tls).toEqual({
      cert: `${repositoryRoot}/tls.crt`,
      key: '/tls.key',
    });
    expect(loadSettings({}).tls).toBeUndefined();
    expect(() => loadSettings({ TLS_KEY: '/tls.key' })).toThrow('TLS_CERT and TLS_KEY belong together');
  });

  it('count an empty variable as unset', () => {
    expect(loadSettings({ PORT: '', OPENAI_API_KEY: '', GATEHOUSE_STATE: '' })).toEqual(loadSettings({}));
  });

  it('take paths from the root of the repository or as absolute ones', () => {
    const settings = loadSettings({ GATEHOUSE_STATE: 'elsewhere', GATEHOUSE_MODELS: '/etc/models.yaml' });
    expect(settings.stateFolder).toBe(`${repositoryRoot}/elsewhere`);
    expect(settings.modelsFile).toBe('/etc/models.yaml');
  });

  it.each([
    { OPENAI_API_KEY: 'sk-1' },
    { OPENAI_BASE_URL: 'http://127.0.0.1:11434/v1' },
    { ANTHROPIC_API_KEY: 'sk-ant-1' },
    { GEMINI_API_KEY: 'AIza-1' },
  ])('use a provider instead of the simulator when there is %o', (environment) => {
    expect(loadSettings(environment).simulated).toBe(false);
  });

  it('take the number of processes of each service, with spaces and a last comma', () => {
    const { replicas } = loadSettings({ GATEHOUSE_REPLICAS: 'edge=2, chat=3,' });
    expect(Object.fromEntries(replicas)).toEqual({
      tenant: 1,
      agent: 1,
      analytics: 1,
      memory: 1,
      chat: 3,
      webhook: 1,
      edge: 2,
    });
  });

  it.each([
    { environment: { KAFKA: '1' }, kafka: true, kafkaBrokers: undefined },
    { environment: { KAFKA: '0' }, kafka: false, kafkaBrokers: undefined },
    { environment: { KAFKA: '1', KAFKA_BROKERS: '' }, kafka: true, kafkaBrokers: undefined },
    { environment: { KAFKA: '1', KAFKA_BROKERS: 'a:1, b:2' }, kafka: false, kafkaBrokers: 'a:1,b:2' },
  ])(
    'start a Kafka if KAFKA=1, unless KAFKA_BROKERS names one: $environment',
    ({ environment, ...expected }) => {
      expect(loadSettings(environment)).toMatchObject(expected);
    },
  );

  it.each([
    ['PORT', 'http', 'PORT must be a number from 1 to 65535, not "http".'],
    ['PORT', '0', 'PORT must be a number from 1 to 65535, not "0".'],
    ['PORT', '65536', 'PORT must be a number from 1 to 65535, not "65536".'],
    ['PORT', '80.5', 'PORT must be a number from 1 to 65535, not "80.5".'],
    ['GATEHOUSE_PROCESSES', 'two', 'GATEHOUSE_PROCESSES must be one or separate, not "two".'],
    ['KAFKA', 'yes', 'KAFKA must be 1 or 0, not "yes".'],
    [
      'KAFKA_BROKERS',
      'localhost',
      'KAFKA_BROKERS must look like "kafka-1:9092,kafka-2:9092", not "localhost".',
    ],
    ['GATEHOUSE_REPLICAS', 'chat', 'GATEHOUSE_REPLICAS must look like "edge=2,chat=3"; "chat" does not.'],
    [
      'GATEHOUSE_REPLICAS',
      'chat=-1',
      'GATEHOUSE_REPLICAS must look like "edge=2,chat=3"; "chat=-1" does not.',
    ],
    ['GATEHOUSE_REPLICAS', 'chat=0', 'GATEHOUSE_REPLICAS: chat must be from 1 to 16, not 0.'],
    ['GATEHOUSE_REPLICAS', 'chat=99', 'GATEHOUSE_REPLICAS: chat must be from 1 to 16, not 99.'],
    ['GATEHOUSE_REPLICAS', 'chat=2,chat=3', 'GATEHOUSE_REPLICAS names chat twice.'],
    [
      'GATEHOUSE_REPLICAS',
      'chatt=2',
      'GATEHOUSE_REPLICAS names "chatt", but the services are tenant, agent, analytics, memory, chat, webhook, edge.',
    ],
    [
      'INSPECT',
      'door',
      'INSPECT names "door", but the services are tenant, agent, analytics, memory, chat, webhook, edge.',
    ],
  ])('refuse %s=%s in one sentence', (name, value, sentence) => {
    expect(() => loadSettings({ [name]: value })).toThrow(new Error(sentence));
  });

  it('refuse a port after which there is no room for the other edges', () => {
    expect(() => loadSettings({ PORT: '65535', GATEHOUSE_REPLICAS: 'edge=2' })).toThrow(
      'is too high for 2 edge processes',
    );
    expect(() => loadSettings({ PORT: '65535', GATEHOUSE_REPLICAS: 'all=2' })).toThrow('is too high');
  });
});
