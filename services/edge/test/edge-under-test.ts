import { hash, randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { scopes } from '@gatehouse/contract/scopes';
import { GrpcServer } from '@gatehouse/grpc/server';
import { newKeyText } from '@gatehouse/identity/key-text';
import { Verifier } from '@gatehouse/identity/verifier';
import type { CertificateFiles } from '@gatehouse/kit/certificate-files';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import {
  TenantServiceService,
  type AuthenticateRequest,
  type AuthenticateResponse,
  type AuthenticateSessionRequest,
  type AuthenticateSessionResponse,
} from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { testIdentity } from '@gatehouse/test/identity';
import { tenantRpcs } from '@gatehouse/test/tenant-rpcs';
import { loadConfig } from '../src/config.ts';
import type { Service } from '@gatehouse/shell/service';
import { createService, type EdgeOverrides } from '../src/service.ts';

/** A request as a service received it. */
export interface Arrival {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** `tenantCertificate`: for TLS of the edge with its tenant service. */
export type EdgeUnderTestOverrides = EdgeOverrides & { tenantCertificate?: CertificateFiles };

const host = '127.0.0.1';
const log = createLogger('edge', 'silent');

/**
 * The real edge on a port of its own. One server stands in for every service: it records requests and answers them, or
 * runs the test's own listener. `key` and the token `session` open every route, so that only the edge's other rules apply.
 */
export class EdgeUnderTest {
  readonly key: string;
  readonly session: string;
  readonly arrivals: Arrival[];
  readonly #edge: Service;
  readonly #tenant: GrpcServer;
  readonly #services: Server;

  private constructor(
    parts: Pick<EdgeUnderTest, 'key' | 'session' | 'arrivals'>,
    servers: { edge: Service; tenant: GrpcServer; services: Server },
  ) {
    this.key = parts.key;
    this.session = parts.session;
    this.arrivals = parts.arrivals;
    this.#edge = servers.edge;
    this.#tenant = servers.tenant;
    this.#services = servers.services;
  }

  /** `environment`: settings over those of the test, such as where a service is. */
  static async start(
    environment: Readonly<Record<string, string>> = {},
    services?: RequestListener,
    { tenantCertificate, ...overrides }: EdgeUnderTestOverrides = {},
  ): Promise<EdgeUnderTest> {
    const identity = await testIdentity();
    const { text, keyId } = newKeyText();
    const session = randomBytes(32).toString('base64url');
    const tenant = tenantThatKnows(
      { keyId, session },
      await Verifier.create(identity.publicKeys),
      tenantCertificate,
    );
    await tenant.start();
    const arrivals: Arrival[] = [];
    const server = createServer(services ?? recorder(arrivals));
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    const http = `${host}:${(server.address() as AddressInfo).port}`;
    const config = loadConfig({
      HOST: host,
      HTTP_PORT: '0',
      ADMIN_PORT: '0',
      LOG_LEVEL: 'silent',
      DRAIN_TIMEOUT_MS: '1000',
      ASSERTION_PRIVATE_KEY: identity.privateKey('edge'),
      ASSERTION_PUBLIC_KEYS: identity.publicKeys,
      TENANT_GRPC: `${host}:${tenant.port}`,
      // No analytics: the keys of these tests are no tenant's, so no refused request is counted.
      ANALYTICS_GRPC: `${host}:1`,
      TENANT_HTTP: http,
      AGENT_HTTP: http,
      CHAT_HTTP: http,
      ANALYTICS_HTTP: http,
      MEMORY_HTTP: http,
      WEBHOOK_HTTP: http,
      ...environment,
    });
    const edge = await createService(config, { log, ...overrides });
    try {
      await edge.start();
    } catch (error) {
      server.close();
      await tenant.stop();
      throw error;
    }
    // Until it reaches the tenant service, it is not ready.
    await eventually(async () => {
      const health = await fetch(`http://${host}:${edge.adminPort}/readyz`);
      await health.arrayBuffer();
      if (!health.ok) throw new Error('the edge is not ready');
    });
    return new EdgeUnderTest({ key: text, session, arrivals }, { edge, tenant, services: server });
  }

  get port(): number {
    return this.#edge.httpPort;
  }

  get url(): string {
    return `http://${host}:${this.port}`;
  }

  /** Its metrics, as Prometheus reads them. */
  async metrics(): Promise<string> {
    return (await fetch(`http://${host}:${this.#edge.adminPort}/metrics`)).text();
  }

  async stop(): Promise<void> {
    await this.#edge.stop();
    await this.#tenant.stop();
    this.#services.closeAllConnections();
    await new Promise((resolve) => this.#services.close(resolve));
  }
}

function tenantThatKnows(
  known: { keyId: string; session: string },
  verifier: Verifier,
  certificate: CertificateFiles | undefined,
): GrpcServer {
  const value = {
    id: newId(),
    tenantId: '',
    tenantSlug: '',
    tenantStatus: '',
    role: 'owner',
    scopes: [...scopes],
    hasUsers: false,
  };
  const place = { service: 'tenant', host, port: 0, drainTimeoutMs: 100 };
  const server = new GrpcServer({ ...place, verifier, log, certificate });
  const authenticate = {
    callers: ['edge'],
    handle: async ({ keyId }: AuthenticateRequest): Promise<AuthenticateResponse> =>
      keyId === known.keyId ? { result: { $case: 'key', value } } : {},
  };
  const authenticateSession = {
    callers: ['edge'],
    handle: async ({ tokenSha256 }: AuthenticateSessionRequest): Promise<AuthenticateSessionResponse> =>
      tokenSha256.equals(hash('sha256', known.session, 'buffer'))
        ? { key: { ...value, sessionId: newId() } }
        : { key: undefined },
  };
  return server.add(TenantServiceService, tenantRpcs({ authenticate, authenticateSession }));
}

function recorder(arrivals: Arrival[]): RequestListener {
  return (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      arrivals.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 2 }).end('{}');
    });
  };
}
