import { expect } from '@jest/globals';
import { topics } from '@gatehouse/contract/services';
import { RpcClient } from '@gatehouse/grpc/client';
import { parseKeyText } from '@gatehouse/identity/key-text';
import type { Signer } from '@gatehouse/identity/signer';
import type { ErrorBody } from '@gatehouse/kit/errors';
import { newId, randomBase62 } from '@gatehouse/kit/ids';
import {
  TenantServiceClient,
  type AuthenticateResponse,
  type GetTenantSettingsResponse,
} from '@gatehouse/proto/tenant/v1/tenant';
import type { Service } from '@gatehouse/shell/service';
import type { ShellOverrides } from '@gatehouse/shell/shell';
import { lockWaits } from '@gatehouse/test/lock-waits';
import { ServiceGround } from '@gatehouse/test/service-ground';
import {
  ServiceUnderTest,
  type Answer,
  type As,
  type CallOptions,
  type RunOptions,
} from '@gatehouse/test/service-under-test';
import { loadConfig } from '../src/config.ts';
import { createService } from '../src/service.ts';
import { UserDataServices } from './user-data-services.ts';

/** Members that answers of this service may have. `call` has checked each answer against its route's shape. */
export interface AnswerBody {
  error: ErrorBody['error'];
  id: string;
  status: string;
  limits: Record<string, number> | null;
  scopes: string[];
  prefix: string;
  key: string;
  admin_key: string;
  expires_at: string | null;
  data: (Omit<AnswerBody, 'data'> & { role: string; tenant_id: string | null })[];
  has_more: boolean;
  next_cursor: string | null;
}

export interface TestTenant {
  id: string;
  slug: string;
  /** Its first admin key's text. */
  adminKey: string;
  admin: As;
}

interface StartOptions extends RunOptions {
  settings?: Record<string, string>;
  overrides?: ShellOverrides;
}

/** The tenant service, and the means to call it and look into it. */
export class TenantServiceUnderTest extends ServiceUnderTest<RpcClient<TenantServiceClient>, AnswerBody> {
  /** Stand in for the services that tenant calls. */
  readonly others: UserDataServices;
  readonly #settings: Record<string, string> = {};
  #overrides: ShellOverrides = {};

  private constructor(ground: ServiceGround, others: UserDataServices) {
    super('tenant', ground);
    this.others = others;
    others.sendReceipt = (service, event) =>
      this.send(service, { topic: topics.receipts, source: service, events: [event], fresh: false });
    ground.onStop(() => others.stop());
  }

  /** `settings`: those that differ from the defaults. */
  static async start({
    settings = {},
    overrides = {},
    ...options
  }: StartOptions = {}): Promise<TenantServiceUnderTest> {
    const ground = await ServiceGround.prepare('tenant');
    const started = new TenantServiceUnderTest(ground, await UserDataServices.start(ground.identity));
    Object.assign(started.#settings, settings);
    started.#overrides = overrides;
    await started.run(options);
    return started;
  }

  override environment(): Record<string, string> {
    return {
      ...super.environment(),
      MEMORY_GRPC: this.others.of('memory').address,
      WEBHOOK_GRPC: this.others.of('webhook').address,
      AGENT_GRPC: this.others.of('agent').address,
      ANALYTICS_GRPC: this.others.of('analytics').address,
      CHAT_GRPC: this.others.of('chat').address,
      ...this.#settings,
    };
  }

  create(environment: Record<string, string>): Promise<Service> {
    return createService(loadConfig(environment), this.#overrides);
  }

  protected connect(address: string, signer: Signer): RpcClient<TenantServiceClient> {
    return new RpcClient({ peer: 'tenant', addresses: [address], stub: TenantServiceClient, signer });
  }

  /** As an owner, unless said otherwise. */
  override call(
    method: string,
    path: string,
    options: Partial<CallOptions> = {},
  ): Promise<Answer<AnswerBody>> {
    return super.call(method, path, { as: { role: 'owner' }, ...options });
  }

  /** A tenant made by the owner, with its admin. Without `limits` it has none, not even the one of new tenants. */
  async makeTenant(
    fields: { slug?: string; limits?: object; [setting: string]: unknown } = {},
  ): Promise<TestTenant> {
    const { slug = `tenant-${randomBase62(10).toLowerCase()}` } = fields;
    const limits = { max_concurrent: null, ...fields.limits };
    const { status, body } = await this.call('POST', '/internal/v1/owner/tenants', {
      body: { name: 'A tenant', ...fields, slug, limits },
    });
    expect(status).toBe(201);
    const admin: As = { tenantId: body.id, tenantSlug: slug, role: 'admin', keyId: newId() };
    return { id: body.id, slug, adminKey: body.admin_key, admin };
  }

  /** A key made by `as`, as the create endpoint answers it. */
  async makeKey(as: As, fields: Record<string, unknown> = {}): Promise<AnswerBody> {
    const body = { name: 'A key', role: 'user', ...fields };
    const answer = await this.call('POST', '/v1/api-keys', { as, body });
    expect(answer.status).toBe(201);
    return answer.body;
  }

  /** Statements that wait for locks of this database, in the transaction of {@link rows} too. */
  async waiting(): Promise<number> {
    const waiting = await this.rows(`select from ${lockWaits}`);
    return waiting.length;
  }

  async authenticate(keyText: string): Promise<AuthenticateResponse> {
    const parsed = parseKeyText(keyText);
    if (parsed === null) throw new Error(`not a key's text: ${keyText}`);
    return this.authenticateParts(parsed.keyId, parsed.secretSha256);
  }

  async authenticateParts(keyId: string, secretSha256: Buffer): Promise<AuthenticateResponse> {
    const edge = await this.peer('edge');
    const request = { keyId, secretSha256 };
    return edge.call('authenticate', request, { deadlineMs: 5_000 });
  }

  async settings(
    tenantId: string,
    caller = 'chat',
    omitLimitedKeys?: boolean,
  ): Promise<GetTenantSettingsResponse> {
    const peer = await this.peer(caller);
    const request = { tenantId, omitLimitedKeys, withProviderKeys: true };
    return peer.call('getTenantSettings', request, { deadlineMs: 5_000 });
  }
}
