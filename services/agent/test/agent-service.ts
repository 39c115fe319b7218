import { expect } from '@jest/globals';
import type { Agent } from '@gatehouse/contract/agents';
import type { BrowserCookie, SyncedCookies } from '@gatehouse/contract/cookies';
import type { McpLogin } from '@gatehouse/contract/mcp-logins';
import type { WireMcpServer } from '@gatehouse/contract/mcp-servers';
import { RpcClient, type CallContext } from '@gatehouse/grpc/client';
import type { Signer } from '@gatehouse/identity/signer';
import type { ErrorBody } from '@gatehouse/kit/errors';
import { newId, randomBase62 } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import {
  AgentServiceClient,
  type Agent as AgentMessage,
  type ListVisibleAgentsResponse,
} from '@gatehouse/proto/agent/v1/agent';
import { eventually } from '@gatehouse/test/eventually';
import type { Service } from '@gatehouse/shell/service';
import { ServiceGround } from '@gatehouse/test/service-ground';
import { ServiceUnderTest, type Answer, type As, type RunOptions } from '@gatehouse/test/service-under-test';
import { loadConfig } from '../src/config.ts';
import { createService } from '../src/service.ts';
import { AlertTaker } from '@gatehouse/test/alert-taker';
import { AuditTaker } from '@gatehouse/test/audit-taker';
import { MemoryOfAgents } from './memory-stand-in.ts';
import { ModelCatalogue } from './model-catalogue.ts';

/** Members that answers of this service may have. `call` holds each answer to its route's shape. */
export type AnswerBody = Agent &
  WireMcpServer &
  SyncedCookies & {
    error: ErrorBody['error'];
    data: (Agent & WireMcpServer & BrowserCookie & Omit<McpLogin, 'status'>)[];
    has_more: boolean;
    next_cursor: string | null;
  };

/** A tenant in these tests: an id and the callers that act in it. */
export interface TestTenant {
  id: string;
  /** Sees every agent. */
  admin: As;
  /** A key of the role user without an acting user. */
  user: As;
  /** An admin key that acts for this end user; `bound` keys can't act for another. */
  acting(user: string): As;
  bound(user: string): As;
}

/** The agent service, its peers, and the means to call it and look into it. */
export class AgentServiceUnderTest extends ServiceUnderTest<RpcClient<AgentServiceClient>, AnswerBody> {
  /** Stands in for chat. */
  readonly chat: ModelCatalogue;
  readonly memory: MemoryOfAgents;
  /** Stands in for tenant. */
  readonly tenant: AuditTaker;
  /** Stands in for webhook. */
  readonly webhook: AlertTaker;
  readonly #settings: Record<string, string> = {};
  #log: Logger | undefined;

  private constructor(
    ground: ServiceGround,
    peers: Pick<AgentServiceUnderTest, 'chat' | 'memory' | 'tenant' | 'webhook'>,
  ) {
    super('agent', ground);
    this.chat = peers.chat;
    this.memory = peers.memory;
    this.tenant = peers.tenant;
    this.webhook = peers.webhook;
    ground.onStop(() => peers.chat.stop());
    ground.onStop(() => peers.memory.server.stop());
    ground.onStop(() => peers.tenant.stop());
    ground.onStop(() => peers.webhook.server.stop());
  }

  /** `settings`: those that differ from the defaults. */
  static async start({
    settings = {},
    log,
    ...options
  }: RunOptions & { settings?: Record<string, string>; log?: Logger } = {}): Promise<AgentServiceUnderTest> {
    const ground = await ServiceGround.prepare('agent');
    const chat = await ModelCatalogue.start(ground.identity);
    const tenant = await AuditTaker.start(ground.identity);
    const memory = await MemoryOfAgents.start(ground.identity);
    const webhook = await AlertTaker.start(ground.identity);
    const started = new AgentServiceUnderTest(ground, { chat, memory, tenant, webhook });
    Object.assign(started.#settings, settings);
    started.#log = log;
    await started.run(options);
    return started;
  }

  create(environment: Record<string, string>): Promise<Service> {
    return createService(loadConfig(environment), { log: this.#log });
  }

  override environment(): Record<string, string> {
    return {
      ...super.environment(),
      CHAT_GRPC: this.chat.address,
      MEMORY_GRPC: this.memory.server.address,
      TENANT_GRPC: this.tenant.address,
      WEBHOOK_GRPC: this.webhook.server.address,
      ...this.#settings,
    };
  }

  protected connect(address: string, signer: Signer): RpcClient<AgentServiceClient> {
    return new RpcClient({ peer: 'agent', addresses: [address], stub: AgentServiceClient, signer });
  }

  /** Waits until agents can be created again after chat was away. */
  async untilModelsAreChecked(): Promise<void> {
    await eventually(async () => {
      const body = { key: `probe-${randomBase62(10).toLowerCase()}`, model: 'small' };
      expect((await this.call('POST', '/v1/agents', { as: {}, body })).status).toBe(201);
    });
  }

  makeTenant(): TestTenant {
    const id = newId();
    const tenant = { tenantId: id, tenantSlug: `tenant-${randomBase62(8).toLowerCase()}` };
    return {
      id,
      admin: { ...tenant, role: 'admin' },
      user: { ...tenant, role: 'user' },
      acting: (user) => ({ ...tenant, role: 'admin', userId: user }),
      bound: (user) => ({ ...tenant, role: 'user', boundUser: user, userId: user }),
    };
  }

  /** An agent made by `as`, as the create endpoint answers it. It may name servers that don't exist. */
  async makeAgent(as: As, fields: Record<string, unknown> = {}): Promise<Agent> {
    const key = `agent-${randomBase62(10).toLowerCase()}`;
    const body = { key, model: 'small', allow_missing: true, ...fields };
    const answer = await this.call('POST', '/v1/agents', { as, body });
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  async get(as: As, ref: string): Promise<Answer<AnswerBody>> {
    return this.call('GET', `/v1/agents/${ref}`, { as });
  }

  async patch(as: As, ref: string, body: unknown): Promise<Answer<AnswerBody>> {
    return this.call('PATCH', `/v1/agents/${ref}`, { as, body });
  }

  async delete(as: As, ref: string): Promise<Answer<AnswerBody>> {
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

  /** The context of a call to the service on behalf of a key. */
  async actingFor(as: As): Promise<CallContext> {
    return { deadlineMs: 5_000, assertion: await this.identity.assertion(as) };
  }
}
