import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@gatehouse/local/ports';
import { loadConfig as agentConfig } from '@gatehouse/service-agent/config';
import { createService as createAgentService } from '@gatehouse/service-agent/service';
import { loadConfig as analyticsConfig } from '@gatehouse/service-analytics/config';
import { createService as createAnalyticsService } from '@gatehouse/service-analytics/service';
import { loadConfig as chatConfig, type ChatOverrides } from '@gatehouse/service-chat/config';
import { createService as createChatService } from '@gatehouse/service-chat/service';
import { loadConfig as edgeConfig } from '@gatehouse/service-edge/config';
import { createService as createEdgeService, type EdgeOverrides } from '@gatehouse/service-edge/service';
import { loadConfig as memoryConfig } from '@gatehouse/service-memory/config';
import { createService as createMemoryService } from '@gatehouse/service-memory/service';
import { loadConfig as webhookConfig } from '@gatehouse/service-webhook/config';
import { createService as createWebhookService } from '@gatehouse/service-webhook/service';
import { ConnectionCount } from '@gatehouse/shell/connection-count';
import { Neighbours } from '@gatehouse/shell/neighbours';
import type { Service } from '@gatehouse/shell/service';
import { loadConfig as tenantConfig } from '@gatehouse/service-tenant/config';
import { createService as createTenantService } from '@gatehouse/service-tenant/service';
import type { Pool } from 'pg';
import { stringify } from 'yaml';
import { testCatalogue } from './catalogue.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { DatabaseClock } from './database-clock.ts';
import { DatabaseProxy } from './database-proxy.ts';
import { testIdentity, type TestIdentity } from './identity.ts';
import { startProviderSimulator, type ProviderSimulator } from './provider-simulator/simulator.ts';
import { openPool } from './query.ts';
import { serviceEnvironment } from './service-environment.ts';
import { callGateway, type Answer, type Call, type ServiceName, type SomeGateway } from './some-gateway.ts';
import { makeTenant, type TenantAccess } from './tenants.ts';

const host = '127.0.0.1';
const services: readonly ServiceName[] = ['tenant', 'agent', 'analytics', 'memory', 'webhook', 'chat'];

export interface GatewayOptions {
  edges?: number;
  chats?: number;
  chat?: ChatOverrides;
  /**
   * How long chat and analytics wait for late events before the deletion of a user's data is completed. Analytics then
   * folds runs as often, since the deletion waits for that too.
   */
  forgetSettleMs?: number;
  edge?: EdgeOverrides;
  analytics?: number;
  /**
   * Whether services reach each other over connections. By default they do so only where the test has several replicas
   * of one; otherwise they are neighbours, as in one process.
   */
  separate?: boolean;
  /** If unset, events go to analytics directly. The test creates the topics. */
  kafka?: { KAFKA_BROKERS: string; KAFKA_PREFIX: string };
  /** Existing databases, with their owner key if there is one, instead of a new one for each service. */
  existing?: { database: (service: ServiceName) => TestDatabase; ownerKey: string | null };
  /** Settings of every service, or by its name, which override those of the test gateway. */
  environment?: Readonly<Record<string, string>> | ((service: string) => Readonly<Record<string, string>>);
}

/**
 * The whole gateway in this process: the real services, beside each other or on real sockets, each with its own database behind a proxy that
 * can be cut, and a simulated provider. Services can be stopped and restarted on the same ports.
 */
export class TestGateway implements SomeGateway {
  readonly simulator: ProviderSimulator;
  readonly #identity: TestIdentity;
  readonly #folder: string;
  readonly #databases = new Map<ServiceName, TestDatabase>();
  readonly #proxies = new Map<ServiceName, DatabaseProxy>();
  /** Pools of the superuser by database: tests ask until something is there. */
  readonly #pools = new Map<TestDatabase, Pool>();
  /** By name such as `chat-1`: creates the service; `running` is null while it is stopped. */
  readonly #members = new Map<string, { create: () => Promise<Service>; running: Service | null }>();
  readonly #edgePorts: number[] = [];
  #clock: DatabaseClock | undefined;
  ownerKey = '';

  private constructor(simulator: ProviderSimulator, identity: TestIdentity, folder: string) {
    this.simulator = simulator;
    this.#identity = identity;
    this.#folder = folder;
  }

  static async start(options: GatewayOptions = {}): Promise<TestGateway> {
    const [simulator, identity, folder] = await Promise.all([
      startProviderSimulator({ apiKey: 'provider-key' }),
      testIdentity(),
      mkdtemp(path.join(tmpdir(), 'gatehouse-e2e-')),
    ]);
    const gateway = new TestGateway(simulator, identity, folder);
    await Promise.all(
      services.map(async (service) => {
        const database = options.existing?.database(service) ?? (await createTestDatabase(service));
        if (service === 'tenant' && options.existing === undefined)
          gateway.#clock = await DatabaseClock.install(database.adminUrl);
        const proxy = new DatabaseProxy(database.url);
        await proxy.open();
        gateway.#databases.set(service, database);
        gateway.#proxies.set(service, proxy);
      }),
    );
    const [ownerKey] = await Promise.all([
      options.existing?.ownerKey ?? gateway.#bootstrap(),
      gateway.#startAll(options),
    ]);
    gateway.ownerKey = ownerKey;
    return gateway;
  }

  get url(): string {
    return this.urlOf(0);
  }

  urlOf(edge: number): string {
    return `http://${host}:${this.#edgePorts[edge] ?? 0}`;
  }

  /** `tenant-1`, `agent-1`, `analytics-1`, `chat-1`, `edge-1`, … */
  async startMember(name: string): Promise<void> {
    const member = this.#memberOf(name);
    member.running = await member.create();
    await member.running.start();
  }

  async stopMember(name: string): Promise<void> {
    const member = this.#memberOf(name);
    await member.running?.stop();
    member.running = null;
  }

  /** The metrics of a running service. */
  async metrics(name: string): Promise<string> {
    const { running } = this.#memberOf(name);
    return (await fetch(`http://${host}:${running?.adminPort ?? 0}/metrics`)).text();
  }

  /** The body of the readiness probe: `ok`, or what is missing. */
  async readiness(name: string): Promise<string> {
    const { running } = this.#memberOf(name);
    return (await fetch(`http://${host}:${running?.adminPort ?? 0}/readyz`)).text();
  }

  /** The database proxy of a service, which a test may cut. */
  databaseOf(service: ServiceName): DatabaseProxy {
    const proxy = this.#proxies.get(service);
    if (proxy === undefined) throw new Error(`${service} has no database`);
    return proxy;
  }

  async rows(service: ServiceName, sql: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
    const database = this.#databases.get(service);
    if (database === undefined) throw new Error(`${service} has no database`);
    const pool = this.#pools.get(database) ?? openPool(database.adminUrl);
    this.#pools.set(database, pool);
    return (await pool.query<Record<string, unknown>>(sql, values)).rows;
  }

  /** Moves the clock of the tenant service's database. */
  async untilSecond(second: number): Promise<void> {
    if (this.#clock === undefined) throw new Error('the clock of a database that was there is not moved');
    await this.#clock.moveToSecond(second);
  }

  call(route: string, call: Call = {}): Promise<Answer> {
    return callGateway(this.urlOf(call.edge ?? 0), route, call);
  }

  makeTenant(settings: Record<string, unknown> = {}): Promise<TenantAccess> {
    return makeTenant(this, settings);
  }

  async stop(): Promise<void> {
    for (const name of [...this.#members.keys()].reverse()) await this.stopMember(name);
    await this.simulator.close();
    for (const proxy of this.#proxies.values()) await proxy.cut();
    for (const pool of this.#pools.values()) await pool.end();
    await Promise.all([...this.#databases.values()].map((database) => database.drop()));
    await rm(this.#folder, { recursive: true });
  }

  async #startAll(options: GatewayOptions): Promise<void> {
    await this.#declare(options);
    for (const name of this.#members.keys()) await this.startMember(name);
  }

  #memberOf(name: string): { create: () => Promise<Service>; running: Service | null } {
    const member = this.#members.get(name);
    if (member === undefined) throw new Error(`unknown service: ${name}`);
    return member;
  }

  async #declare(options: GatewayOptions): Promise<void> {
    const chats = await Promise.all(Array.from({ length: options.chats ?? 1 }, ports));
    const tenant = await ports();
    const agent = await ports();
    const analytics = await Promise.all(Array.from({ length: options.analytics ?? 1 }, ports));
    const memory = await ports();
    const webhook = await ports();
    const models = await this.#catalogue();
    const { forgetSettleMs } = options;
    const forgetting = forgetSettleMs === undefined ? {} : { forgetSettleMs };
    const list = (name: 'http' | 'grpc', of: Ports[]): string =>
      of.map((each) => `${host}:${each[name]}`).join(',');
    const peers = {
      TENANT_GRPC: list('grpc', [tenant]),
      TENANT_HTTP: list('http', [tenant]),
      AGENT_GRPC: list('grpc', [agent]),
      AGENT_HTTP: list('http', [agent]),
      ANALYTICS_GRPC: list('grpc', analytics),
      ANALYTICS_HTTP: list('http', analytics),
      MEMORY_GRPC: list('grpc', [memory]),
      MEMORY_HTTP: list('http', [memory]),
      WEBHOOK_GRPC: list('grpc', [webhook]),
      WEBHOOK_HTTP: list('http', [webhook]),
      CHAT_GRPC: list('grpc', chats),
      CHAT_HTTP: list('http', chats),
    };
    const { separate = isPlural(options) || process.env['GATEHOUSE_TEST_PROCESSES'] === 'separate' } =
      options;
    const neighbours = separate
      ? undefined
      : new Neighbours([...services, 'edge'], { listen: false, connections: new ConnectionCount(40) });
    const environment = (service: string, at: Ports): Record<string, string> => ({
      ...serviceEnvironment(service, {
        databaseUrl: this.#proxies.get(service as ServiceName)?.url ?? '',
        identity: this.#identity,
      }),
      ...peers,
      HTTP_PORT: String(at.http),
      GRPC_PORT: String(at.grpc),
      DRAIN_TIMEOUT_MS: '2000',
      DATABASE_POOL: '5',
      ...options.kafka,
      GATEHOUSE_MODELS: models,
      SIMULATOR_KEY: 'provider-key',
      ...(typeof options.environment === 'function' ? options.environment(service) : options.environment),
    });
    this.#add('tenant-1', async () =>
      createTenantService(tenantConfig(environment('tenant', tenant)), { neighbours }),
    );
    this.#add('agent-1', async () =>
      createAgentService(agentConfig(environment('agent', agent)), { neighbours }),
    );
    for (const [index, at] of analytics.entries()) {
      this.#add(`analytics-${index + 1}`, async () =>
        createAnalyticsService(analyticsConfig(environment('analytics', at)), {
          ...forgetting,
          ...(forgetSettleMs !== undefined && { foldEveryMs: forgetSettleMs }),
          neighbours,
        }),
      );
    }
    this.#add('memory-1', async () =>
      createMemoryService(memoryConfig(environment('memory', memory)), { neighbours }),
    );
    this.#add('webhook-1', async () =>
      createWebhookService(webhookConfig(environment('webhook', webhook)), { neighbours }),
    );
    for (const [index, at] of chats.entries()) {
      this.#add(`chat-${index + 1}`, async () =>
        createChatService(await chatConfig(environment('chat', at)), {
          ...forgetting,
          ...options.chat,
          neighbours,
        }),
      );
    }
    for (let index = 0; index < (options.edges ?? 1); index += 1) {
      const at = await ports();
      this.#edgePorts.push(at.http);
      this.#add(`edge-${index + 1}`, async () =>
        createEdgeService(edgeConfig(environment('edge', at)), { ...options.edge, neighbours }),
      );
    }
  }

  #add(name: string, create: () => Promise<Service>): void {
    this.#members.set(name, { create, running: null });
  }

  async #catalogue(): Promise<string> {
    const file = path.join(this.#folder, 'models.yaml');
    const refusing = `http://${host}:${await freePort()}/v1`;
    const catalogue = testCatalogue({ simulator: this.simulator.baseUrl, refusing });
    await writeFile(file, stringify(catalogue));
    return file;
  }

  async #bootstrap(): Promise<string> {
    const script = path.join(import.meta.dirname, '../../services/tenant/src/bootstrap.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [script], {
      env: {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        DATABASE_URL: this.#databases.get('tenant')?.url,
      },
    });
    return stdout.trim();
  }
}

function isPlural({ edges = 1, chats = 1, analytics = 1 }: GatewayOptions): boolean {
  return edges > 1 || chats > 1 || analytics > 1;
}

interface Ports {
  http: number;
  grpc: number;
}

async function ports(): Promise<Ports> {
  return { http: await freePort(), grpc: await freePort() };
}
