import type { ChannelInstance } from '@gatehouse/contract/channel-instances';
import type { ChannelMessage, Conversation } from '@gatehouse/contract/channel-messages';
import type { WebhookCallWithResult, WebhookDelivery } from '@gatehouse/contract/webhook-calls';
import type { WebhookEndpoint } from '@gatehouse/contract/webhook-endpoints';
import type { WebhookSubscription } from '@gatehouse/contract/webhook-subscriptions';
import { RpcClient } from '@gatehouse/grpc/client';
import type { Signer } from '@gatehouse/identity/signer';
import type { ErrorBody } from '@gatehouse/kit/errors';
import { newId, randomBase62 } from '@gatehouse/kit/ids';
import { ParticipantServiceClient } from '@gatehouse/proto/participant/v1/participant';
import type { Service } from '@gatehouse/shell/service';
import { AgentDirectory } from '@gatehouse/test/agent-directory';
import { AuditTaker } from '@gatehouse/test/audit-taker';
import { ServiceGround } from '@gatehouse/test/service-ground';
import { ServiceUnderTest, type Answer, type As } from '@gatehouse/test/service-under-test';
import { loadConfig, type WebhookOverrides } from '../src/config.ts';
import { burst } from '../src/conversations/burst.ts';
import { createService } from '../src/service.ts';
import { AnsweringChat } from './answering-chat.ts';
import { signed, type Signing } from '@gatehouse/test/webhook-senders';

type Shown = Omit<WebhookEndpoint, keyof WebhookCallWithResult> &
  WebhookCallWithResult &
  Pick<WebhookSubscription, 'event_types' | 'last_delivery' | 'url'> &
  Pick<WebhookDelivery, 'attempts'> &
  Pick<ChannelInstance, 'webhook_url' | 'status_reason' | 'config' | 'replies'> &
  Pick<ChannelMessage, 'direction' | 'text' | 'run_id' | 'external_id'> &
  Pick<Conversation, 'group' | 'user_id'> & { message_id: string | null; challenge: string };

/** The fields that answers of this service may have. `call` has held each to its route's shape, so a test reads what its has. */
export interface AnswerBody extends Shown {
  error: ErrorBody['error'];
  data: Shown[];
  has_more: boolean;
  next_cursor: string | null;
  secret: string;
  callback_secret: string;
}

/** A tenant with an agent, and its admin. */
export interface TestTenant {
  id: string;
  agentId: string;
  admin: As;
}

/** The caller with an owner key. */
export const owner: As = { tenantId: null, tenantSlug: null, role: 'owner', scopes: [] };

const endpoints = '/v1/webhooks/endpoints';

/** The webhook service, its peers, and the means to call it and look into it. */
export class WebhookServiceUnderTest extends ServiceUnderTest<
  RpcClient<ParticipantServiceClient>,
  AnswerBody
> {
  readonly agents: AgentDirectory;
  /** Stands in for tenant. */
  readonly tenant: AuditTaker;
  readonly chat: AnsweringChat;
  readonly #settings: Record<string, string> = {};
  #overrides: WebhookOverrides = {};

  private constructor(
    ground: ServiceGround,
    peers: { agents: AgentDirectory; tenant: AuditTaker; chat: AnsweringChat },
  ) {
    super('webhook', ground);
    this.agents = peers.agents;
    this.tenant = peers.tenant;
    this.chat = peers.chat;
    ground.onStop(() => peers.agents.stop());
    ground.onStop(() => peers.tenant.stop());
    ground.onStop(() => peers.chat.server.stop());
  }

  /**
   * `settings`: those that differ from the defaults. Jobs that are due are found soon, and a burst of messages is short, so
   * that tests don't wait for two seconds and a poll at each message.
   */
  static async start(
    settings: Record<string, string> = {},
    overrides: WebhookOverrides = {},
  ): Promise<WebhookServiceUnderTest> {
    const ground = await ServiceGround.prepare('webhook');
    const agents = await AgentDirectory.start(ground.identity);
    const tenant = await AuditTaker.start(ground.identity);
    const chat = await AnsweringChat.start(ground.identity);
    const started = new WebhookServiceUnderTest(ground, { agents, tenant, chat });
    Object.assign(started.#settings, settings);
    started.#overrides = { jobTiming: { pollMs: 200 }, ...overrides };
    const { seconds } = burst;
    burst.seconds = 0.5;
    ground.onStop(() => {
      burst.seconds = seconds;
    });
    await started.run();
    return started;
  }

  create(environment: Record<string, string>): Promise<Service> {
    return createService(loadConfig(environment), this.#overrides);
  }

  override environment(): Record<string, string> {
    return {
      ...super.environment(),
      AGENT_GRPC: this.agents.address,
      CHAT_GRPC: this.chat.server.address,
      TENANT_GRPC: this.tenant.address,
      ...this.#settings,
    };
  }

  protected connect(address: string, signer: Signer): RpcClient<ParticipantServiceClient> {
    return new RpcClient({ peer: 'webhook', addresses: [address], stub: ParticipantServiceClient, signer });
  }

  makeTenant(): TestTenant {
    const id = newId();
    const slug = `tenant-${randomBase62(8).toLowerCase()}`;
    return {
      id,
      agentId: this.agents.add(id, 'support'),
      admin: { tenantId: id, tenantSlug: slug, role: 'admin' },
    };
  }

  /** Creates an endpoint and returns the answer, whatever it is. */
  async post(tenant: TestTenant, fields: Record<string, unknown> = {}): Promise<Answer<AnswerBody>> {
    const body = { name: 'Alerts', agent_id: tenant.agentId, ...fields };
    return this.call('POST', endpoints, { as: tenant.admin, body });
  }

  /** An endpoint, as the response to its creation shows it. */
  async makeEndpoint(tenant: TestTenant, fields: Record<string, unknown> = {}): Promise<AnswerBody> {
    const answer = await this.post(tenant, fields);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  /** A delivery, signed as its sender does; `headers` replace those of the signature. */
  async deliver(endpoint: Signing & { id: string }, delivery: DeliveryOptions): Promise<Answer<AnswerBody>> {
    const { id = newId(), headers = {}, port, from } = delivery;
    const text = typeof delivery.body === 'string' ? delivery.body : JSON.stringify(delivery.body);
    return this.sendAnonymously('webhooks.llm', `/v1/webhooks/llm?endpoint=${delivery.to ?? endpoint.id}`, {
      headers: { ...signed(endpoint, text, { id, at: delivery.at }), ...headers },
      body: delivery.sends ?? text,
      ...{ port, from },
    });
  }

  /** Sends a request without a key as the edge sends it on. */
  async sendAnonymously(
    routeId: string,
    path: string,
    { headers, body, port, from = '198.51.100.7' }: Anonymous,
  ): Promise<Answer<AnswerBody>> {
    const response = await fetch(`http://127.0.0.1:${port ?? this.service.httpPort}${path}`, {
      method: 'POST',
      headers: [
        ['x-gatehouse-assertion', await (await this.identity.signer('edge')).anonymous(routeId)],
        ['x-gatehouse-client-ip', from],
        ...Object.entries({ 'content-type': 'application/json', ...headers }).flatMap(([name, value]) =>
          [value].flat().map((each): [string, string] => [name, each]),
        ),
      ],
      body,
    });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as AnswerBody,
    };
  }
}

interface Anonymous {
  headers: Record<string, string | string[]>;
  body: string;
  port?: number | undefined;
  /** The client's address. */
  from?: string | undefined;
}

export interface DeliveryOptions {
  body: unknown;
  /** The id of the delivery. */
  id?: string;
  headers?: Record<string, string | string[]>;
  /** Sent instead of the body that was signed. */
  sends?: string;
  /** The endpoint that is named. */
  to?: string;
  /** When it was signed, in Unix seconds. */
  at?: number | undefined;
  /** The client's address. */
  from?: string;
  port?: number;
}
