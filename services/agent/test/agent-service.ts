import { expect } from '@jest/globals';
import type { Agent } from '@gatehouse/contract/agents';
import { RouteMatcher } from '@gatehouse/contract/match';
import { routes } from '@gatehouse/contract/routes';
import { Peer, type CallContext } from '@gatehouse/grpc/client';
import type { Principal } from '@gatehouse/identity/principal';
import type { ErrorBody } from '@gatehouse/kit/errors';
import { sleep } from '@gatehouse/kit/clock';
import { newId, randomBase62 } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import {
  AgentServiceClient,
  type Agent as AgentMessage,
  type ListVisibleAgentsResponse,
} from '@gatehouse/proto/agent/v1/agent';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { DatabaseProxy } from '@gatehouse/test/database-proxy';
import { testIdentity, type TestIdentity } from '@gatehouse/test/identity';
import { Client } from 'pg';
import { z } from 'zod';
import { loadConfig } from '../src/config.ts';
import type { Service } from '@gatehouse/service/service';
import { createAgentService } from '../src/service.ts';
import { AuditTaker } from './audit-taker.ts';
import { ModelCatalogue } from './model-catalogue.ts';

/** Who calls: what the edge would assert. */
export type As = Partial<Principal>;

export interface CallOptions {
  /** Null sends no assertion. */
  as: As | null;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, instead of `body`. */
  text?: string;
  headers?: Record<string, string>;
  /** The HTTP port of another replica. */
  port?: number;
}

/** What answers of this service may hold. `call` has held each to its route's shape, so a test reads what its has. */
export interface AnswerBody extends Agent {
  error: ErrorBody['error'];
  data: Agent[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface Answer {
  status: number;
  headers: Headers;
  body: AnswerBody;
}

/** A tenant is only an id here, and whoever calls for it. */
export interface TestTenant {
  id: string;
  /** Sees every agent. */
  admin: As;
  /** A key of the role user, which acts for nobody. */
  user: As;
  /** An admin key that acts for this end user; `bound` keys can't act for another. */
  acting(user: string): As;
  bound(user: string): As;
}

const errorShape = z.strictObject({
  error: z.strictObject({
    message: z.string().min(1),
    type: z.string(),
    code: z.string(),
    param: z.string().nullable(),
    request_id: z.string().min(1),
  }),
});

const matcher = new RouteMatcher(routes);
const log = createLogger('agent', 'silent');

/** The real service on ports of its own with a database of its own, and the means to call it and look into it. */
export class AgentServiceUnderTest {
  readonly database: TestDatabase;
  readonly identity: TestIdentity;
  /** The service's way to its database, which a test may cut. */
  readonly proxy: DatabaseProxy;
  /** Stands in for chat. */
  readonly chat: ModelCatalogue;
  /** Stands in for tenant. */
  readonly tenant: AuditTaker;
  readonly service: Service;
  readonly #admin: Client;
  readonly #peers = new Map<string, Peer<AgentServiceClient>>();

  private constructor(
    parts: Pick<AgentServiceUnderTest, 'database' | 'identity' | 'proxy' | 'chat' | 'tenant' | 'service'>,
    admin: Client,
  ) {
    this.database = parts.database;
    this.identity = parts.identity;
    this.proxy = parts.proxy;
    this.chat = parts.chat;
    this.tenant = parts.tenant;
    this.service = parts.service;
    this.#admin = admin;
  }

  static async start(): Promise<AgentServiceUnderTest> {
    const [database, identity] = await Promise.all([createTestDatabase('agent'), testIdentity()]);
    const proxy = new DatabaseProxy(database.url);
    await proxy.open();
    const chat = await ModelCatalogue.start(identity);
    const tenant = await AuditTaker.start(identity);
    const peers = { chat: chat.address, tenant: tenant.address };
    const config = loadConfig(environmentOf({ databaseUrl: proxy.url, identity, ...peers }));
    const service = await createAgentService(config, { log });
    const admin = new Client({ connectionString: database.adminUrl });
    await admin.connect();
    await service.start();
    return new AgentServiceUnderTest({ database, identity, proxy, chat, tenant, service }, admin);
  }

  /** Waits until agents can be created again after chat was away. */
  async untilModelsAreChecked(): Promise<void> {
    for (let attempt = 0; attempt < 100; attempt += 1) {
      const body = { key: `probe-${randomBase62(10).toLowerCase()}`, model: 'small' };
      if ((await this.call('POST', '/v1/agents', { as: {}, body })).status === 201) return;
      await sleep(100);
    }
    throw new Error('chat did not come back');
  }

  /** The settings of another process of the service. */
  environment(): Record<string, string> {
    const { database, identity, chat, tenant } = this;
    const peers = { chat: chat.address, tenant: tenant.address };
    return environmentOf({ databaseUrl: database.url, identity, ...peers });
  }

  /** Another replica on the same database, which the caller stops. */
  async startReplica(): Promise<Service> {
    const replica = await createAgentService(loadConfig(this.environment()), { log });
    await replica.start();
    return replica;
  }

  async stop(): Promise<void> {
    for (const peer of this.#peers.values()) peer.close();
    await this.service.stop();
    await this.chat.stop();
    await this.tenant.stop();
    await this.proxy.cut();
    await this.#admin.end();
    await this.database.drop();
  }

  makeTenant(): TestTenant {
    const id = newId();
    const tenant = { tenantId: id, tenantSlug: `tenant-${randomBase62(8).toLowerCase()}` };
    return {
      id,
      admin: { ...tenant, role: 'admin' },
      user: { ...tenant, role: 'user' },
      acting: (user) => ({ ...tenant, role: 'admin', actingUser: user }),
      bound: (user) => ({ ...tenant, role: 'user', boundUser: user, actingUser: user }),
    };
  }

  /** One HTTP request. Every answer is held to the contract: its route's status and shape, or the error shape. */
  async call(method: string, path: string, options: CallOptions): Promise<Answer> {
    const { as, body } = options;
    const text = options.text ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(`http://127.0.0.1:${options.port ?? this.service.httpPort}${path}`, {
      method,
      headers: {
        ...(as === null ? {} : { 'x-gatehouse-assertion': await this.identity.assertion(as) }),
        ...(text === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(text === undefined ? {} : { body: text }),
    });
    const answerText = await response.text();
    const match = matcher.match(method, path.split('?', 1)[0] ?? '');
    let answer: unknown = {};
    if (response.status >= 400 || match.kind !== 'route') {
      answer = errorShape.parse(JSON.parse(answerText));
    } else {
      const { status, shape } = match.route.response;
      expect(response.status).toBe(status);
      if (shape === null) expect(answerText).toBe('');
      else answer = shape.parse(JSON.parse(answerText));
    }
    return { status: response.status, headers: response.headers, body: answer as AnswerBody };
  }

  /** An agent made by `as`, as the create endpoint answers it. */
  async makeAgent(as: As, fields: Record<string, unknown> = {}): Promise<Agent> {
    const key = `agent-${randomBase62(10).toLowerCase()}`;
    const answer = await this.call('POST', '/v1/agents', { as, body: { key, model: 'small', ...fields } });
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  async get(as: As, ref: string): Promise<Answer> {
    return this.call('GET', `/v1/agents/${ref}`, { as });
  }

  async patch(as: As, ref: string, body: unknown): Promise<Answer> {
    return this.call('PATCH', `/v1/agents/${ref}`, { as, body });
  }

  async delete(as: As, ref: string): Promise<Answer> {
    return this.call('DELETE', `/v1/agents/${ref}`, { as });
  }

  /** Keys in the order of the list. */
  async listKeys(as: As, query = ''): Promise<string[]> {
    const answer = await this.call('GET', `/v1/agents?${query}`, { as });
    expect(answer.status).toBe(200);
    return answer.body.data.map((agent) => agent.key);
  }

  /** `ResolveAgent` as chat calls it. */
  async resolve(as: As, idOrKey: string): Promise<AgentMessage | undefined> {
    const chat = await this.peer('chat');
    return (await chat.call('resolveAgent', { idOrKey }, await this.actingFor(as))).agent;
  }

  /** A page of `ListVisibleAgents` as chat gets it. */
  async visiblePage(as: As, before = ''): Promise<ListVisibleAgentsResponse> {
    const chat = await this.peer('chat');
    return chat.call('listVisibleAgents', { before }, await this.actingFor(as));
  }

  /** Keys on the first page of `ListVisibleAgents`. */
  async listVisible(as: As): Promise<string[]> {
    return (await this.visiblePage(as)).agents.map((agent) => agent.key);
  }

  /** What goes with a call to the service for somebody. */
  async actingFor(as: As): Promise<CallContext> {
    return { deadlineMs: 5_000, assertion: await this.identity.assertion(as) };
  }

  /** The service as `caller` sees it over gRPC. */
  async peer(caller: string): Promise<Peer<AgentServiceClient>> {
    const known = this.#peers.get(caller);
    if (known !== undefined) return known;
    const peer = new Peer({
      peer: 'agent',
      addresses: [`127.0.0.1:${this.service.grpcPort}`],
      stub: AgentServiceClient,
      signer: await this.identity.signer(caller),
    });
    this.#peers.set(caller, peer);
    return peer;
  }

  /** Looks into the tables as superuser. */
  async query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.#admin.query<Row>(text, values)).rows;
  }
}

/** The service's settings, with ports of its own. */
export function environmentOf(settings: {
  databaseUrl: string;
  identity: TestIdentity;
  chat: string;
  tenant: string;
}): Record<string, string> {
  return {
    HOST: '127.0.0.1',
    HTTP_PORT: '0',
    GRPC_PORT: '0',
    ADMIN_PORT: '0',
    DATABASE_URL: settings.databaseUrl,
    ASSERTION_PRIVATE_KEY: settings.identity.privateKey('agent'),
    ASSERTION_PUBLIC_KEYS: settings.identity.publicKeys,
    SECRETS_KEYRING: settings.identity.keyRing,
    CHAT_GRPC: settings.chat,
    TENANT_GRPC: settings.tenant,
  };
}
