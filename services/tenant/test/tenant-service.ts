import { expect } from '@jest/globals';
import { RouteMatcher } from '@gatehouse/contract/match';
import { routes } from '@gatehouse/contract/routes';
import { Peer } from '@gatehouse/grpc/client';
import { parseKeyText } from '@gatehouse/identity/key-text';
import type { Principal } from '@gatehouse/identity/principal';
import type { ErrorBody } from '@gatehouse/kit/errors';
import { newId, randomBase62 } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import {
  TenantServiceClient,
  type AuthenticateResponse,
  type GetTenantSettingsResponse,
} from '@gatehouse/proto/tenant/v1/tenant';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { testIdentity, type TestIdentity } from '@gatehouse/test/identity';
import { Client } from 'pg';
import { z } from 'zod';
import { loadConfig } from '../src/config.ts';
import type { Service } from '@gatehouse/service/service';
import { createTenantService } from '../src/service.ts';

/** Who calls: what the edge would assert. */
export type As = Partial<Principal>;

export interface CallOptions {
  /** Default: an owner. Null sends no assertion. */
  as?: As | null;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, instead of `body`. */
  text?: string;
  headers?: Record<string, string>;
  /** The HTTP port of another replica. */
  port?: number;
}

/** What answers of this service may hold. `call` has held each to its route's shape, so a test reads what its has. */
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

export interface Answer {
  status: number;
  headers: Headers;
  body: AnswerBody;
}

export interface TestTenant {
  id: string;
  slug: string;
  /** Its first admin key's text. */
  adminKey: string;
  admin: As;
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

/** The real service on ports of its own with a database of its own, and the means to call it and look into it. */
export class TenantServiceUnderTest {
  readonly database: TestDatabase;
  readonly identity: TestIdentity;
  readonly service: Service;
  readonly #admin: Client;
  readonly #peers = new Map<string, Peer<TenantServiceClient>>();

  private constructor(
    parts: Pick<TenantServiceUnderTest, 'database' | 'identity' | 'service'> & { admin: Client },
  ) {
    this.database = parts.database;
    this.identity = parts.identity;
    this.service = parts.service;
    this.#admin = parts.admin;
  }

  /** `databaseUrl` may lead to the database another way. */
  static async start(
    options: { databaseUrl?: (url: string) => Promise<string> } = {},
  ): Promise<TenantServiceUnderTest> {
    const database = await createTestDatabase('tenant');
    const identity = await testIdentity();
    const url = (await options.databaseUrl?.(database.url)) ?? database.url;
    const service = await createTenantService(loadConfig(environmentOf(url, identity)), {
      log: createLogger('tenant', 'silent'),
    });
    const admin = new Client({ connectionString: database.adminUrl });
    await admin.connect();
    await service.start();
    return new TenantServiceUnderTest({ database, identity, service, admin });
  }

  /** Another replica on the same database, which the caller stops. */
  async startReplica(): Promise<Service> {
    const environment = environmentOf(this.database.url, this.identity);
    const replica = await createTenantService(loadConfig(environment), {
      log: createLogger('tenant', 'silent'),
    });
    await replica.start();
    return replica;
  }

  async stop(): Promise<void> {
    for (const peer of this.#peers.values()) peer.close();
    await this.service.stop();
    await this.#admin.end();
    await this.database.drop();
  }

  /** One HTTP request. Every answer is held to the contract: its route's status and shape, or the error shape. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const { as = { role: 'owner' }, body } = options;
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
    const answer: unknown = await response.json();
    const match = matcher.match(method, path.split('?', 1)[0] ?? '');
    if (response.status >= 400 || match.kind !== 'route') {
      errorShape.parse(answer);
    } else {
      expect(response.status).toBe(match.route.response.status);
      match.route.response.shape?.parse(answer);
    }
    return { status: response.status, headers: response.headers, body: answer as AnswerBody };
  }

  /** A tenant made by the owner, with its admin. */
  async makeTenant(fields: { slug?: string; [setting: string]: unknown } = {}): Promise<TestTenant> {
    const { slug = `tenant-${randomBase62(10).toLowerCase()}` } = fields;
    const { status, body } = await this.call('POST', '/internal/v1/owner/tenants', {
      body: { name: 'A tenant', ...fields, slug },
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
    return peer.call('getTenantSettings', { tenantId, omitLimitedKeys }, { deadlineMs: 5_000 });
  }

  /** The service as `caller` sees it over gRPC. */
  async peer(caller: string): Promise<Peer<TenantServiceClient>> {
    const known = this.#peers.get(caller);
    if (known !== undefined) return known;
    const peer = new Peer({
      peer: 'tenant',
      addresses: [`127.0.0.1:${this.service.grpcPort}`],
      stub: TenantServiceClient,
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

/** The environment of a tenant service on ports of its own. */
export function environmentOf(databaseUrl: string, identity: TestIdentity): Record<string, string> {
  return {
    HOST: '127.0.0.1',
    HTTP_PORT: '0',
    GRPC_PORT: '0',
    ADMIN_PORT: '0',
    DATABASE_URL: databaseUrl,
    ASSERTION_PRIVATE_KEY: identity.privateKey('tenant'),
    ASSERTION_PUBLIC_KEYS: identity.publicKeys,
    SECRETS_KEYRING: identity.keyRing,
  };
}
