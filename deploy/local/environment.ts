import { services, type ServiceEntry } from '@gatehouse/contract/services';
import { serviceUrl, type DatabaseOptions } from './database.ts';
import { loopback } from './ports.ts';
import type { LocalSecrets } from './secrets.ts';
import { addressList, type Replica } from './topology.ts';

type Environment = Record<string, string | undefined>;

export interface EnvironmentOptions {
  replicas: readonly Replica[];
  secrets: LocalSecrets;
  database: DatabaseOptions;
  modelsFile: string;
  /** Variables of the caller with secrets of OpenID Connect issuers. */
  issuerSecrets: readonly string[];
  /** URL for clients. */
  url: string;
  /** Paths of the edge's certificate and its private key; undefined for http. */
  tls: { cert: string; key: string } | undefined;
  /** The environment of the supervisor. */
  caller: Environment;
  /** Provider settings for the simulator, where the caller has not set them. */
  provider: Record<string, string>;
  /** `host:port,host:port`; undefined without Kafka. */
  kafkaBrokers: string | undefined;
}

/** Default drain time after Ctrl-C, short because a person waits for it. */
const drainTimeoutMs = '10000';

/** A stopping replica serves until every edge has noticed, which checks its replicas every second. */
const drainDelayMs = '1500';

const passedNames = new Set([
  'PATH',
  'HOME',
  'TZ',
  'LOG_LEVEL',
  'DRAIN_DELAY_MS',
  'DRAIN_TIMEOUT_MS',
  'KAFKA_PREFIX',
  'EGRESS_ALLOW',
  'OIDC_ISSUERS',
  'TRUSTED_PROXIES',
  'WEBHOOK_ALLOW_TOKEN',
  'TELEGRAM_API_URL',
  'SLACK_API_URL',
  'ZALO_API_URL',
  'ZALO_OAUTH_URL',
  'CORS_ORIGINS',
  'CLI_KEY_TTL',
  'AUDIT_RETENTION_DAYS',
  'BODY_BYTES_PER_TENANT',
  'BODY_BYTES_PER_PROCESS',
  'UNREAD_TIMEOUT_MS',
]);
const passedPrefixes = ['NODE_', 'OTEL_'];

/** Variables of every child process. No secret may be among them. */
export function sharedEnvironment(caller: Environment): Record<string, string> {
  return pick(
    caller,
    (name) => passedNames.has(name) || passedPrefixes.some((prefix) => name.startsWith(prefix)),
  );
}

/** The settings of one process, without those of others. */
export function serviceEnvironment(replica: Replica, options: EnvironmentOptions): Record<string, string> {
  const { services: run, ports } = replica;
  const { secrets } = options;
  const any = (fact: 'models' | 'keyRing' | 'issuers' | 'public'): boolean =>
    run.some((service) => service[fact]);
  const environments = run.map((service) => serviceSettings(service, run.length > 1, options));
  return {
    DRAIN_TIMEOUT_MS: drainTimeoutMs,
    DRAIN_DELAY_MS: hasSiblings(replica, options.replicas) ? drainDelayMs : '0',
    ...(any('models') ? { ...pick(options.caller, () => true), ...options.provider } : {}),
    ...(any('issuers') ? pick(options.caller, (name) => options.issuerSecrets.includes(name)) : {}),
    ...sharedEnvironment(options.caller),
    ...peerAddresses(options.replicas),
    HOST: loopback,
    HTTP_PORT: String(ports.http),
    ADMIN_PORT: String(ports.admin),
    PUBLIC_URL: options.url,
    ASSERTION_PUBLIC_KEYS: secrets.publicKeys,
    ...(ports.grpc === undefined ? {} : { GRPC_PORT: String(ports.grpc) }),
    ...(options.kafkaBrokers === undefined ? {} : { KAFKA_BROKERS: options.kafkaBrokers }),
    ...Object.fromEntries(environments.flatMap((settings) => Object.entries(settings))),
    ...(any('keyRing') ? { SECRETS_KEYRING: secrets.keyRing } : {}),
    ...(any('public') && options.tls ? { TLS_CERT: options.tls.cert, TLS_KEY: options.tls.key } : {}),
    ...(any('models') ? { GATEHOUSE_MODELS: options.modelsFile } : {}),
  };
}

/** Settings with a value for each service; `NAME_<SERVICE>` where several share a process. */
function serviceSettings(
  service: ServiceEntry,
  isShared: boolean,
  { secrets, database }: EnvironmentOptions,
): Record<string, string> {
  const suffix = isShared ? `_${service.name.toUpperCase()}` : '';
  return {
    [`ASSERTION_PRIVATE_KEY${suffix}`]: secrets.privateKeys[service.name] ?? '',
    ...(service.database ? { [`DATABASE_URL${suffix}`]: serviceUrl(database, service.name) } : {}),
  };
}

/** Whether another process of the same services can take the requests of this one. */
function hasSiblings({ name, services: run }: Replica, replicas: readonly Replica[]): boolean {
  return replicas.some((other) => other.services[0] === run[0] && other.name !== name);
}

/** `<SVC>_HTTP` and `<SVC>_GRPC` of every service. Every process gets all of them, because addresses are not secret. */
function peerAddresses(replicas: readonly Replica[]): Record<string, string> {
  const addresses: Record<string, string> = {};
  for (const { name, grpc } of services) {
    const variable = name.toUpperCase();
    addresses[`${variable}_HTTP`] = addressList(replicas, name, 'http', loopback);
    if (grpc) addresses[`${variable}_GRPC`] = addressList(replicas, name, 'grpc', loopback);
  }
  return addresses;
}

function pick(environment: Environment, wanted: (name: string) => boolean): Record<string, string> {
  const entries = Object.entries(environment).filter(([name, value]) => value !== undefined && wanted(name));
  return Object.fromEntries(entries) as Record<string, string>;
}
