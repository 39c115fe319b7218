import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AllowList } from '@gatehouse/egress/allow-list';
import type { Alert } from '@gatehouse/events/alert-event';
import type { Principal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { AgentServiceService, type Agent, type CallToolResponse } from '@gatehouse/proto/agent/v1/agent';
import { EventsServiceService } from '@gatehouse/proto/events/v1/events';
import { ParticipantServiceClient } from '@gatehouse/proto/participant/v1/participant';
import { RpcClient, type RpcOptions, type RpcStub } from '@gatehouse/grpc/client';
import { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import {
  TenantServiceService,
  type Ask,
  type GetTenantSettingsResponse,
  type LeaseRequest,
  type Resource,
  type Settlement,
} from '@gatehouse/proto/tenant/v1/tenant';
import { AlertTaker } from '@gatehouse/test/alert-taker';
import type { TestDatabase } from '@gatehouse/test/database';
import type { DatabaseProxy } from '@gatehouse/test/database-proxy';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal, type TestIdentity } from '@gatehouse/test/identity';
import { peerServer } from '@gatehouse/test/peer-server';
import { someRpcs } from '@gatehouse/test/some-rpcs';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { serviceEnvironment } from '@gatehouse/test/service-environment';
import { ServiceGround } from '@gatehouse/test/service-ground';
import { resolveUserOf, tenantRpcs, tenantSettings, type KnownUsers } from '@gatehouse/test/tenant-rpcs';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { CatalogueFile } from '../src/catalogue/catalogue-file.ts';
import type { EndedRun } from '../src/runs/run-record.ts';
import type { Service } from '@gatehouse/shell/service';
import type { ChatOverrides } from '../src/config.ts';
import { createService } from '../src/service.ts';
import { amply, grantsOf, nothing } from './grants.ts';
import { KeyUses } from './key-uses.ts';
import { MemoryStandIn } from './memory-stand-in.ts';
import { testCatalogue } from './test-catalogue.ts';
import { ToolLists } from './tool-lists.ts';

type HarnessSettings = Partial<Record<'BODY_BYTES_PER_TENANT' | 'BODY_BYTES_PER_PROCESS', number>>;

/** The chat service with real sockets on every side: a simulated provider, and peers that answer what a test sets. */
export class ChatHarness {
  readonly simulator: ProviderSimulator;
  readonly database: TestDatabase;
  readonly identity: TestIdentity;
  /** The services' way to the database, which a test may cut. */
  readonly proxy: DatabaseProxy;
  readonly #ground: ServiceGround;
  /** Settings by tenant id; the default allows everything and keeps previews. */
  readonly settings = new Map<string, Partial<GetTenantSettingsResponse>>();
  /** Users of directories by tenant and lower-case name, with a space between. */
  readonly users: KnownUsers = new Map();
  /** Limited resources of keys by their id, where the settings say that some are limited. */
  readonly keyLimits = new Map<string, Resource[]>();
  /** How often limits of a key were asked for. */
  keyLimitCalls = 0;
  agentListCalls = 0;
  /** The grants of the tenant service. */
  leaseBy = async ({ asks, tenantId }: LeaseRequest) =>
    Promise.resolve(grantsOf(asks, this.usedUp.has(tenantId) ? nothing : amply, this.windowStart));
  /** Asks for leases that the tenant service received. */
  readonly asks: Ask[] = [];
  windowStart = 1n;
  /** Tenants with nothing left of any limit. */
  readonly usedUp = new Set<string>();
  /** Agents by key, for every tenant. */
  readonly agents = new Map<string, Agent>();
  readonly toolLists = new ToolLists();
  /** The results of calls of tools, by the tool. */
  callTool: (tool: string, argumentsJson: string) => Promise<CallToolResponse> = (tool) =>
    Promise.resolve({ content: `${tool} was called`, outcome: 'ok' });
  /** The agent service answers when this has resolved. */
  agentsAnswer: Promise<unknown> = Promise.resolve();
  /** How often an agent was asked for. */
  agentLookUps = 0;
  #services: Service[] = [];
  /** Whether there is an analytics service; what it was sent is in `events`, each as JSON. */
  takesEvents = false;
  readonly events: string[] = [];
  /** The costs of runs that the tenant service received. */
  readonly settlements: Settlement[] = [];
  /** The other instances that it said live. */
  readonly liveHolders = new Set<string>();
  readonly keyUses = new KeyUses();
  /** Their settlements can't be charged. */
  readonly stuckTenants = new Set<string>();
  /** The memory service. */
  readonly memory: MemoryStandIn;
  /** The catalogue of the replica that was started last. */
  modelsFile = '';
  #webhook: AlertTaker | undefined;
  #catalogueFields: Record<string, unknown> = {};
  #secrets: Record<string, string> = {};
  #settings: HarnessSettings = {};
  #peers = { tenant: '', agent: '', analytics: '' };

  private constructor(simulator: ProviderSimulator, ground: ServiceGround) {
    this.simulator = simulator;
    this.#ground = ground;
    ({ database: this.database, identity: this.identity, proxy: this.proxy } = ground);
    this.memory = new MemoryStandIn(ground.identity);
    ground.onStop(() => this.memory.stop());
    ground.onStop(() => simulator.close());
  }

  /** `catalogue`: members of the catalogue in place of others. `secrets`: variables that it names. */
  static async start(
    overrides: ChatOverrides = {},
    catalogue: Record<string, unknown> = {},
    secrets: Record<string, string> = {},
    settings: HarnessSettings = {},
  ): Promise<ChatHarness> {
    const simulator = await startProviderSimulator({ apiKey: 'provider-key' });
    const harness = new ChatHarness(simulator, await ServiceGround.prepare('chat'));
    harness.#catalogueFields = catalogue;
    harness.#secrets = secrets;
    harness.#settings = settings;
    await harness.#startPeers();
    // Tests share the machine: only the test of this budget depends on it.
    await harness.startReplica({ recallBudgetMs: 10_000, ...overrides });
    return harness;
  }

  /** Alerts of a type and a tenant, or of the platform. */
  alertsOf(tenantId: string | null, type: string): Alert[] {
    return this.#webhook?.of(tenantId, type) ?? [];
  }

  /** Resolves when every alert so far has been published. */
  async flushAlerts(): Promise<void> {
    await eventually(async () => {
      if ((await this.rows('select 1 from chat.alert_outbox')).length > 0) throw new Error('alerts wait');
    });
  }

  /** One more replica on the same database. */
  async startReplica(
    overrides: ChatOverrides = {},
    providers: Record<string, unknown> = {},
  ): Promise<Service> {
    const models = await this.#catalogueFile(providers);
    const secrets = { UNUSED: 'provider-key', WRONG: 'not-the-key', ...this.#secrets };
    const catalogueFile = new CatalogueFile(models, secrets);
    const { catalogue, secrets: providerSecrets } = await catalogueFile.load();
    const service = await createService(
      {
        HOST: '127.0.0.1',
        HTTP_PORT: 0,
        GRPC_PORT: 0,
        ADMIN_PORT: 0,
        LOG_LEVEL: 'silent',
        DRAIN_DELAY_MS: 0,
        DRAIN_TIMEOUT_MS: 1_000,
        BODY_BYTES_PER_TENANT: 48 * 1024 * 1024,
        BODY_BYTES_PER_PROCESS: 96 * 1024 * 1024,
        ...this.#settings,
        ...{ UNREAD_TIMEOUT_MS: 60_000, INTERNAL_TLS_CA: '', INTERNAL_TLS_CERT: '', INTERNAL_TLS_KEY: '' },
        ASSERTION_PRIVATE_KEY: this.identity.privateKey('chat'),
        ASSERTION_PUBLIC_KEYS: this.identity.publicKeys,
        SECRETS_KEYRING: KeyRing.parse(this.identity.keyRing),
        DATABASE_URL: this.proxy.url,
        DATABASE_POOL: 4,
        TENANT_GRPC: [this.#peers.tenant],
        AGENT_GRPC: [this.#peers.agent],
        ANALYTICS_GRPC: [this.#peers.analytics],
        MEMORY_GRPC: [this.memory.address],
        WEBHOOK_GRPC: [this.#webhook?.server.address ?? ''],
        KAFKA_PREFIX: '',
        // For lists of prices.
        EGRESS_ALLOW: new AllowList(['127.0.0.1']),
        GATEHOUSE_MODELS: models,
        ...{ catalogue, providerSecrets, catalogueFile },
      },
      // The same of this bound.
      { countWaitMs: 60_000, ...overrides },
    );
    await service.start();
    this.#services.push(service);
    return service;
  }

  /** The settings of a process of its own on the same database, before the same peers. Ports are its own. */
  async environment(): Promise<Record<string, string>> {
    return {
      ...serviceEnvironment('chat', { databaseUrl: this.database.url, identity: this.identity }),
      ...{ TENANT_GRPC: this.#peers.tenant, AGENT_GRPC: this.#peers.agent },
      ...{ ANALYTICS_GRPC: this.#peers.analytics, MEMORY_GRPC: this.memory.address },
      WEBHOOK_GRPC: this.#webhook?.server.address ?? '',
      ...{ EGRESS_ALLOW: '127.0.0.1', GATEHOUSE_MODELS: await this.#catalogueFile({}) },
      ...{ UNUSED: 'provider-key', WRONG: 'not-the-key', ...this.#secrets },
    };
  }

  get url(): string {
    return `http://127.0.0.1:${this.#services[0]?.httpPort ?? 0}`;
  }

  /** The metrics of the first replica, as Prometheus gets them. */
  async metrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.#services[0]?.adminPort ?? 0}/metrics`)).text();
  }

  /** Posts JSON (or raw text or bytes) to the service as the edge would for this principal. */
  async post(
    path: string,
    body: unknown,
    options: {
      principal?: Partial<Principal>;
      headers?: Record<string, string>;
      signal?: AbortSignal;
      url?: string;
    } = {},
  ): Promise<Response> {
    return fetch(`${options.url ?? this.url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gatehouse-assertion': await this.identity.assertion(makePrincipal(options.principal)),
        ...options.headers,
      },
      body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
      signal: options.signal ?? null,
    });
  }

  /** The first replica as the service `caller` sees it over gRPC. */
  peer(caller: string): Promise<RpcClient<ChatServiceClient>> {
    return this.#peerOf(caller, ChatServiceClient);
  }

  /** Its part in deletions of users' data. */
  participant(caller: string): Promise<RpcClient<ParticipantServiceClient>> {
    return this.#peerOf(caller, ParticipantServiceClient);
  }

  async #peerOf<S extends RpcStub>(caller: string, stub: RpcOptions<S>['stub']): Promise<RpcClient<S>> {
    const made = new RpcClient<S>({
      peer: 'chat',
      addresses: [`127.0.0.1:${this.#services[0]?.grpcPort ?? 0}`],
      stub,
      signer: await this.identity.signer(caller),
    });
    this.#ground.onStop(() => made.close());
    return made;
  }

  async get(path: string, principal: Partial<Principal> = {}, dialect = 'chat'): Promise<Response> {
    const proof = { 'x-gatehouse-assertion': await this.identity.assertion(makePrincipal(principal)) };
    return fetch(`${this.url}${path}`, { headers: { ...proof, 'x-gatehouse-dialect': dialect } });
  }

  /** Rows as the superuser sees them. */
  async rows(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    return this.#ground.rows(sql, values);
  }

  /** The end event of the run with this id, without its times. */
  async endedRun(id: string | null): Promise<EndedRun> {
    return eventually(async () => {
      const [run] = await this.endedRuns('run_id = $1', [id]);
      if (run === undefined) throw new Error(`run ${id ?? 'null'} has not ended`);
      return run;
    });
  }

  /** The same of those that wait in the outbox, which all do while there is no analytics service. */
  async endedRuns(condition: string, values: unknown[] = []): Promise<EndedRun[]> {
    const rows = await this.rows(
      `select data::json as run from chat.outbox where ended_at is not null and ${condition} order by run_id`,
      values,
    );
    return rows.map(({ run }) => run as EndedRun);
  }

  async stop(): Promise<void> {
    for (const service of this.#services.splice(0)) await service.stop();
    await this.#ground.stop();
  }

  /** Writes a catalogue, and returns its path. */
  async #catalogueFile(overrides: Record<string, unknown>): Promise<string> {
    const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-models-'));
    this.#ground.onStop(() => rm(folder, { recursive: true }));
    this.modelsFile = path.join(folder, 'models.yaml');
    const catalogue = await testCatalogue(this.simulator.baseUrl, overrides);
    // JSON is YAML.
    await writeFile(this.modelsFile, JSON.stringify({ ...catalogue, ...this.#catalogueFields }));
    return this.modelsFile;
  }

  async #startPeers(): Promise<void> {
    const webhook = await AlertTaker.start(this.identity);
    this.#webhook = webhook;
    this.#ground.onStop(() => webhook.server.stop());
    const tenantService = tenantRpcs({
      getTenantSettings: {
        callers: ['chat'],
        handle: ({ tenantId, apiKeyId }) => {
          const settings = tenantSettings(this.settings.get(tenantId));
          if (apiKeyId === undefined) return Promise.resolve(settings);
          this.keyLimitCalls += 1;
          const limited = this.keyLimits.get(apiKeyId);
          const own = limited === undefined ? [] : [{ id: apiKeyId, limited }];
          return Promise.resolve({ ...settings, limitedKeys: [...settings.limitedKeys, ...own] });
        },
      },
      resolveUser: resolveUserOf(this.users),
      lease: {
        callers: ['chat'],
        handle: async (request) => {
          this.asks.push(...request.asks);
          return { grants: await this.leaseBy(request) };
        },
      },
      noteProviderKeys: this.keyUses.rpc,
      settle: {
        callers: ['chat'],
        handle: ({ liveHolderIds, settlements, counterSettlements }) => {
          for (const id of liveHolderIds) this.liveHolders.add(id);
          this.settlements.push(...settlements, ...counterSettlements);
          const stuck = settlements.filter(({ tenantId }) => this.stuckTenants.has(tenantId));
          return Promise.resolve({ unchargedIds: stuck.map(({ id }) => id), chargesCounters: true });
        },
      },
    });
    const tenant = (await peerServer('tenant', this.identity)).add(TenantServiceService, tenantService);
    const agentRpcs = someRpcs(AgentServiceService, {
      resolveAgent: {
        ...{ callers: ['chat'], acceptsDelegation: true },
        handle: async ({ idOrKey }) => {
          this.agentLookUps += 1;
          await this.agentsAnswer;
          const found = this.agents.get(idOrKey);
          if (found === undefined) throw new AppError('not_found', 'There is no such agent.');
          return { agent: found };
        },
      },
      listTools: {
        ...{ callers: ['chat'], acceptsDelegation: true },
        handle: (asked) => this.toolLists.answer(asked),
      },
      callTool: {
        ...{ callers: ['chat'], acceptsDelegation: true },
        handle: ({ tool, argumentsJson }) => this.callTool(tool, argumentsJson),
      },
      listVisibleAgents: {
        callers: ['chat'],
        handle: async ({ before }) => {
          this.agentListCalls += 1;
          await this.agentsAnswer;
          const all = [...this.agents.values()];
          const from = all.findIndex(({ id }) => id === before) + 1;
          const agents = all.slice(from, from + 1_000);
          return { agents, hasMore: from + agents.length < all.length };
        },
      },
    });
    const agent = (await peerServer('agent', this.identity)).add(AgentServiceService, agentRpcs);
    const analytics = (await peerServer('analytics', this.identity)).add(EventsServiceService, {
      take: {
        callers: ['chat'],
        handle: ({ events }) => {
          if (!this.takesEvents) return Promise.reject(new AppError('service_unavailable', 'not now'));
          this.events.push(...events);
          return Promise.resolve({});
        },
      },
    });
    await this.memory.start();
    for (const [name, server] of Object.entries({ tenant, agent, analytics })) {
      await server.start();
      this.#ground.onStop(() => server.stop());
      this.#peers = { ...this.#peers, [name]: `127.0.0.1:${server.port}` };
    }
  }
}

export function makeAgent(fields: Partial<Agent> = {}): Agent {
  return {
    id: newId(),
    key: 'assistant',
    model: 'small',
    modelFallbacks: [],
    systemPrompt: '',
    parametersJson: '{}',
    status: 'active',
    created: 1_700_000_000n,
    ...fields,
  };
}

export function chat(text: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { model: 'small', messages: [{ role: 'user', content: text }], ...fields };
}
