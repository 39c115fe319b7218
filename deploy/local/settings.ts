import path from 'node:path';
import { services } from '@gatehouse/contract/services';
import { StartError } from './start-error.ts';

export const repositoryRoot = path.resolve(import.meta.dirname, '../..');

export interface LocalSettings {
  /** The port of the edge; further edge processes use the following ports. */
  port: number;
  /** Absolute path of the state folder. */
  stateFolder: string;
  /** Absolute path of the model catalogue. */
  modelsFile: string;
  /** Whether the bundled simulator answers, because no provider is set. */
  simulated: boolean;
  /** Whether to start a local Kafka. */
  kafka: boolean;
  /** Brokers of an existing Kafka: `host:port,host:port`. */
  kafkaBrokers: string | undefined;
  /** Number of processes by service, or by `allServices` of processes running all of them. */
  replicas: ReadonlyMap<string, number>;
  /** Absolute paths of the edge's certificate and its private key; undefined for http. */
  tls: { cert: string; key: string } | undefined;
  /** Service with processes a debugger can attach to. */
  inspect: string | undefined;
}

/** Key of processes running all services, in `GATEHOUSE_REPLICAS`. */
export const allServices = 'all';

const lastPort = 65_535;
const maxReplicas = 16;

/** Those of the catalogue of `make up`. */
const providerVariables = [
  ...['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL'],
  ...['GEMINI_API_KEY', 'GOOGLE_GEMINI_BASE_URL'],
];

/** Reads the settings of `make up`. Throws a `StartError` of one sentence about the first wrong one. */
export function loadSettings(environment: Record<string, string | undefined>): LocalSettings {
  const replicas = parseReplicas(
    valueOf(environment, 'GATEHOUSE_REPLICAS') ?? '',
    valueOf(environment, 'GATEHOUSE_PROCESSES'),
  );
  const port = parsePort(valueOf(environment, 'PORT') ?? '8080');
  const edges = replicas.get('edge') ?? replicas.get(allServices) ?? 1;
  if (port + edges - 1 > lastPort)
    throw new StartError(
      `PORT=${port} is too high for ${edges} edge processes, which use consecutive ports up to ${lastPort}.`,
    );
  const resolve = (name: string, fallback: string): string =>
    path.resolve(repositoryRoot, valueOf(environment, name) ?? fallback);
  const kafkaBrokers = parseBrokers(valueOf(environment, 'KAFKA_BROKERS'));
  return {
    port,
    stateFolder: resolve('GATEHOUSE_STATE', '.gatehouse'),
    modelsFile: resolve('GATEHOUSE_MODELS', 'deploy/local/models.yaml'),
    simulated: providerVariables.every((name) => valueOf(environment, name) === undefined),
    kafka: parseSwitch('KAFKA', valueOf(environment, 'KAFKA') ?? '0') && kafkaBrokers === undefined,
    kafkaBrokers,
    replicas,
    tls: parseTls(valueOf(environment, 'TLS_CERT'), valueOf(environment, 'TLS_KEY')),
    inspect: parseService('INSPECT', valueOf(environment, 'INSPECT')),
  };
}

/** An empty variable counts as unset, the meaning of `NAME= make up`. */
function valueOf(environment: Record<string, string | undefined>, name: string): string | undefined {
  const value = environment[name];
  return value === '' ? undefined : value;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > lastPort)
    throw new StartError(`PORT must be a number from 1 to ${lastPort}, not "${text}".`);
  return port;
}

function parseSwitch(name: string, text: string): boolean {
  if (text !== '0' && text !== '1') throw new StartError(`${name} must be 1 or 0, not "${text}".`);
  return text === '1';
}

function parseTls(cert: string | undefined, key: string | undefined): LocalSettings['tls'] {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined)
    throw new StartError('TLS_CERT and TLS_KEY belong together: set both, or neither.');
  return { cert: path.resolve(repositoryRoot, cert), key: path.resolve(repositoryRoot, key) };
}

function parseService(variable: string, name: string | undefined): string | undefined {
  if (name === undefined || services.some((service) => service.name === name)) return name;
  const names = services.map((service) => service.name).join(', ');
  throw new StartError(`${variable} names "${name}", but the services are ${names}.`);
}

function parseBrokers(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const brokers = text.split(',').map((broker) => broker.trim());
  if (!brokers.every((broker) => /^[^\s/]+:\d+$/.test(broker)))
    throw new StartError(`KAFKA_BROKERS must look like "kafka-1:9092,kafka-2:9092", not "${text}".`);
  return brokers.join(',');
}

/**
 * Parses `all=3`, or `edge=2,chat=3`, which means separate processes; services not listed then get one. `processes` is
 * `one` or `separate`; by default one process runs all services.
 */
function parseReplicas(text: string, processes: string | undefined): Map<string, number> {
  const named = parseCounts(text);
  if (processes !== undefined && processes !== 'one' && processes !== 'separate')
    throw new StartError(`GATEHOUSE_PROCESSES must be one or separate, not "${processes}".`);
  const namesAll = named.has(allServices);
  const isOne = namesAll || (named.size === 0 && processes !== 'separate');
  if ((namesAll && named.size > 1) || (processes !== undefined && isOne !== (processes === 'one')))
    throw new StartError(
      'GATEHOUSE_REPLICAS names either all, for processes that run all services, or services, for separate processes.',
    );
  if (isOne) return new Map([[allServices, named.get(allServices) ?? 1]]);
  return new Map(services.map(({ name }) => [name, named.get(name) ?? 1]));
}

function parseCounts(text: string): Map<string, number> {
  const named = new Map<string, number>();
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue;
    const [, name = '', count = ''] = /^([^=\s]+)\s*=\s*(\d+)$/.exec(entry) ?? [];
    if (name === '')
      throw new StartError(`GATEHOUSE_REPLICAS must look like "edge=2,chat=3"; "${entry}" does not.`);
    if (name !== allServices) parseService('GATEHOUSE_REPLICAS', name);
    if (named.has(name)) throw new StartError(`GATEHOUSE_REPLICAS names ${name} twice.`);
    if (Number(count) < 1 || Number(count) > maxReplicas)
      throw new StartError(`GATEHOUSE_REPLICAS: ${name} must be from 1 to ${maxReplicas}, not ${count}.`);
    named.set(name, Number(count));
  }
  return named;
}
