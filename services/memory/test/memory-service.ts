import { expect } from '@jest/globals';
import type { DocumentWithText, MemoryStats, SearchResult } from '@gatehouse/contract/memory';
import { RpcClient } from '@gatehouse/grpc/client';
import type { Signer } from '@gatehouse/identity/signer';
import type { ErrorBody } from '@gatehouse/kit/errors';
import { newId, randomBase62 } from '@gatehouse/kit/ids';
import { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import type { Service } from '@gatehouse/shell/service';
import { AuditTaker } from '@gatehouse/test/audit-taker';
import { ServiceGround } from '@gatehouse/test/service-ground';
import { ServiceUnderTest, type Answer, type As, type RunOptions } from '@gatehouse/test/service-under-test';
import { loadConfig } from '../src/config.ts';
import { createService } from '../src/service.ts';
import { AgentDirectory } from '@gatehouse/test/agent-directory';
import { EmbeddingModel } from './embedding-model.ts';

/** Members that answers of this service may have. `call` holds each answer to its route's shape. */
export interface AnswerBody extends DocumentWithText, SearchResult, MemoryStats {
  error: ErrorBody['error'];
  data: DocumentWithText[];
  has_more: boolean;
  next_cursor: string | null;
}

/** A tenant with an agent, and the callers that act in it. */
export interface TestTenant {
  id: string;
  agentId: string;
  /** `/v1/agents/{id}` of its agent. */
  base: string;
  admin: As;
  /** A key of the role user without an acting user. */
  user: As;
  /** A key of the role user that acts for this end user. */
  acting(user: string): As;
}

/** The memory service, its peers, and the means to call it and look into it. */
export class MemoryServiceUnderTest extends ServiceUnderTest<RpcClient<MemoryServiceClient>, AnswerBody> {
  readonly agents: AgentDirectory;
  /** Stands in for tenant. */
  readonly tenant: AuditTaker;
  /** Stands in for chat. */
  readonly chat: EmbeddingModel;

  private constructor(
    ground: ServiceGround,
    peers: { agents: AgentDirectory; tenant: AuditTaker; chat: EmbeddingModel },
  ) {
    super('memory', ground);
    this.agents = peers.agents;
    this.tenant = peers.tenant;
    this.chat = peers.chat;
    ground.onStop(() => peers.agents.stop());
    ground.onStop(() => peers.tenant.stop());
    ground.onStop(() => peers.chat.stop());
  }

  /** `prepare` changes the database before the service connects. */
  static async start(
    options?: RunOptions,
    prepare?: (ground: ServiceGround) => Promise<void>,
  ): Promise<MemoryServiceUnderTest> {
    const ground = await ServiceGround.prepare('memory');
    await prepare?.(ground);
    const agents = await AgentDirectory.start(ground.identity);
    const tenant = await AuditTaker.start(ground.identity);
    const chat = await EmbeddingModel.start(ground.identity);
    const started = new MemoryServiceUnderTest(ground, { agents, tenant, chat });
    await started.run(options);
    return started;
  }

  create(environment: Record<string, string>): Promise<Service> {
    return createService(loadConfig(environment));
  }

  override environment(): Record<string, string> {
    return {
      ...super.environment(),
      AGENT_GRPC: this.agents.address,
      CHAT_GRPC: this.chat.address,
      TENANT_GRPC: this.tenant.address,
    };
  }

  protected connect(address: string, signer: Signer): RpcClient<MemoryServiceClient> {
    return new RpcClient({ peer: 'memory', addresses: [address], stub: MemoryServiceClient, signer });
  }

  makeTenant({ analyser = 'english', agent = newId() } = {}): TestTenant {
    const id = newId();
    const tenant = { tenantId: id, tenantSlug: `tenant-${randomBase62(8).toLowerCase()}` };
    const agentId = this.agents.add(id, 'support', { analyser, id: agent });
    return {
      id,
      agentId,
      base: `/v1/agents/${agentId}`,
      admin: { ...tenant, role: 'admin' },
      user: { ...tenant, role: 'user' },
      acting: (user) => ({ ...tenant, role: 'user', userId: user }),
    };
  }

  /** Puts a document and returns the answer. */
  async put(
    tenant: TestTenant,
    path: string,
    text: string,
    as: As = tenant.admin,
  ): Promise<Answer<AnswerBody>> {
    const answer = await this.call('PUT', `${tenant.base}/memory/documents/${path}`, { as, body: { text } });
    expect([200, 201]).toContain(answer.status);
    return answer;
  }

  async get(tenant: TestTenant, path: string, as: As = tenant.admin): Promise<Answer<AnswerBody>> {
    return this.call('GET', `${tenant.base}/memory/documents/${path}`, { as });
  }

  async search(
    tenant: TestTenant,
    body: Record<string, unknown>,
    as: As = tenant.admin,
  ): Promise<Answer<AnswerBody>> {
    return this.call('POST', `${tenant.base}/memory/search`, { as, body });
  }

  /** Paths of the documents whose passages are found, best first. */
  async pathsFor(tenant: TestTenant, query: string, as: As = tenant.admin): Promise<string[]> {
    const answer = await this.search(tenant, { query }, as);
    expect(answer.status).toBe(200);
    return answer.body.results.map(({ path }) => path);
  }

  async stats(tenant: TestTenant, as: As = tenant.admin): Promise<MemoryStats> {
    return (await this.call('GET', `${tenant.base}/memory/stats`, { as })).body;
  }
}
