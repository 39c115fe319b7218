import { expect } from '@jest/globals';
import { dryRunShape } from '@gatehouse/contract/dry-run';
import { RouteMatcher } from '@gatehouse/contract/match';
import { routes } from '@gatehouse/contract/routes';
import { isScimTarget } from '@gatehouse/contract/scim';
import { RpcClient, type RpcOptions, type RpcStub } from '@gatehouse/grpc/client';
import type { Principal } from '@gatehouse/identity/principal';
import type { Signer } from '@gatehouse/identity/signer';
import { EventsServiceClient, type TakeRequest } from '@gatehouse/proto/events/v1/events';
import { ParticipantServiceClient } from '@gatehouse/proto/participant/v1/participant';
import type { Service } from '@gatehouse/shell/service';
import { z } from 'zod';
import type { TestDatabase } from './database.ts';
import type { DatabaseProxy } from './database-proxy.ts';
import type { TestIdentity } from './identity.ts';
import { serviceEnvironment } from './service-environment.ts';
import type { ServiceGround } from './service-ground.ts';

/** The caller: the principal that the edge would assert. */
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

export interface Answer<Body> {
  status: number;
  headers: Headers;
  body: Body;
}

export interface RunOptions {
  overProxy?: boolean;
}

const host = '127.0.0.1';
const matcher = new RouteMatcher(routes);
const errorShape = z.strictObject({
  error: z.strictObject({
    message: z.string().min(1),
    type: z.string(),
    code: z.string(),
    param: z.string().nullable(),
    request_id: z.string().min(1),
  }),
});

/** The errors of SCIM (RFC 7644, section 3.12). */
const scimErrorShape = z.strictObject({
  schemas: z.tuple([z.literal('urn:ietf:params:scim:api:messages:2.0:Error')]),
  status: z.string().regex(/^[45]\d\d$/),
  scimType: z.string().optional(),
  detail: z.string().min(1),
});

/**
 * A real service on ports of its own with a database of its own, and the means to call it and look into it. Each
 * service's harness says how it is made, how a peer reaches it, and what is its own; `Body` is what its answers may hold.
 */
export abstract class ServiceUnderTest<Caller extends { close(): void }, Body> {
  readonly ground: ServiceGround;
  readonly #name: string;
  readonly #callers = new Map<string, Caller>();
  #service: Service | undefined;

  protected constructor(name: string, ground: ServiceGround) {
    this.#name = name;
    this.ground = ground;
  }

  /** Makes the service by its settings; nothing listens yet. */
  abstract create(environment: Record<string, string>): Promise<Service>;

  /** The client that calls the service over gRPC, with a caller's token. */
  protected abstract connect(address: string, signer: Signer): Caller;

  /**
   * Starts the service that `service` then is. Only a test that cuts its way to the database sends it over `proxy`:
   * that way leads through the test's process, which large rows keep busy.
   */
  async run({ overProxy = false }: RunOptions = {}): Promise<void> {
    const way = overProxy ? { DATABASE_URL: this.proxy.url } : {};
    this.#service = await this.create({ ...this.environment(), ...way });
    await this.#service.start();
  }

  /** Another replica on the same database, which the caller stops. */
  async startReplica(): Promise<Service> {
    const replica = await this.create(this.environment());
    await replica.start();
    return replica;
  }

  /** The settings of another process of the service. */
  environment(): Record<string, string> {
    return serviceEnvironment(this.#name, { databaseUrl: this.database.url, identity: this.identity });
  }

  async stop(): Promise<void> {
    for (const caller of this.#callers.values()) caller.close();
    await this.#service?.stop();
    await this.ground.stop();
  }

  get service(): Service {
    if (this.#service === undefined) throw new Error(`${this.#name} does not run`);
    return this.#service;
  }

  get database(): TestDatabase {
    return this.ground.database;
  }

  get proxy(): DatabaseProxy {
    return this.ground.proxy;
  }

  get identity(): TestIdentity {
    return this.ground.identity;
  }

  /** Rows as the superuser sees them. */
  rows<Row extends object = Record<string, unknown>>(sql: string, values?: unknown[]): Promise<Row[]> {
    return this.ground.rows<Row>(sql, values);
  }

  /** `livez`, `readyz` or `metrics`, as the platform asks for it. */
  admin(path: string): Promise<Response> {
    return fetch(`http://${host}:${this.service.adminPort}/${path}`);
  }

  /** The metrics, as Prometheus gets them. */
  async metrics(): Promise<string> {
    return (await this.admin('metrics')).text();
  }

  /** The service as `caller` sees it over gRPC. */
  async peer(caller: string, { grpcPort } = this.service): Promise<Caller> {
    const key = `${caller} ${grpcPort}`;
    const known = this.#callers.get(key);
    if (known !== undefined) return known;
    const signer = await this.identity.signer(caller);
    const connected = this.connect(`${host}:${grpcPort}`, signer);
    this.#callers.set(key, connected);
    return connected;
  }

  /** Its part in deletions and transfers, as `caller` sees it over gRPC. */
  async participant(caller: string): Promise<RpcClient<ParticipantServiceClient>> {
    return this.#shared(caller, ParticipantServiceClient);
  }

  /** Sends events to it as a service does that publishes without Kafka. */
  async send(caller: string, request: TakeRequest): Promise<void> {
    const peer = await this.#shared(caller, EventsServiceClient);
    await peer.call('take', request, { deadlineMs: 5_000 });
  }

  async #shared<Stub extends RpcStub>(
    caller: string,
    stub: RpcOptions<Stub>['stub'],
  ): Promise<RpcClient<Stub>> {
    const signer = await this.identity.signer(caller);
    const peer = new RpcClient<Stub>({
      ...{ peer: this.#name, addresses: [`${host}:${this.service.grpcPort}`], stub, signer },
    });
    this.ground.onStop(() => peer.close());
    return peer;
  }

  /** One HTTP request. Every answer is held to the contract: its route's status and shape, or the error shape. */
  async call(method: string, path: string, options: CallOptions): Promise<Answer<Body>> {
    const { as, body } = options;
    const text = options.text ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(`http://${host}:${options.port ?? this.service.httpPort}${path}`, {
      method,
      headers: {
        ...(as === null ? {} : { 'x-gatehouse-assertion': await this.identity.assertion(as) }),
        ...(text === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(text === undefined ? {} : { body: text }),
    });
    const answer = readAnswer(method, path, { status: response.status, text: await response.text() });
    return { status: response.status, headers: response.headers, body: answer as Body };
  }
}

/** The body of an answer, which the contract allows. */
function readAnswer(
  method: string,
  path: string,
  { status, text }: { status: number; text: string },
): unknown {
  const match = matcher.match(method, path.split('?', 1)[0] ?? '');
  if (status >= 400 || match.kind !== 'route')
    return (isScimTarget(path) ? scimErrorShape : errorShape).parse(JSON.parse(text));
  const { response } = match.route;
  expect([response.status, response.also]).toContain(status);
  const isDryRun = new URLSearchParams(path.split('?', 2)[1]).get('dry_run') === 'true';
  const shape = (isDryRun ? dryRunShape(match.route) : null) ?? response.shape;
  if (shape !== null && response.lines === true)
    return text.split('\n').flatMap((line) => (line === '' ? [] : [shape.parse(JSON.parse(line))]));
  if (shape !== null) return shape.parse(response.csv === true ? text : JSON.parse(text));
  expect(text).toBe('');
  return {};
}
