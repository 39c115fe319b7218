import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { McpRequest, TestMcpServer } from './mcp-server.ts';

/** A login: all tokens that came of one consent. */
interface Family {
  user: string;
  clientId: string;
  access: string;
  refresh: string;
  revoked: boolean;
}

export interface TokenRequest {
  grant: string;
  form: URLSearchParams;
  authorization: string | undefined;
}

/** The client that exists without registration, with its secret. */
export const knownClient = { client_id: 'known-client', client_secret: 'known-secret' };

/**
 * An OAuth 2.1 authorization server on this machine for MCP servers. Access tokens end with the family's next ones,
 * refresh tokens are good for one refresh, and one that comes again revokes its family.
 */
export class AuthorizationServer {
  readonly tokenRequests: TokenRequest[] = [];
  readonly registrations: object[] = [];
  /** Requests to revoke tokens at `/revoke`, which the metadata has to name. */
  readonly revocations: TokenRequest[] = [];
  /** The lifetime of access tokens in seconds, as JSON has it. */
  expiresIn: unknown = 3_600;
  /** Replaces members of answers with tokens. */
  tokenMembers: Record<string, unknown> = {};
  /** Whether refresh tokens are given. */
  gives = { refresh: true };
  /** The user who is logged in here, in browsers that come to the authorization endpoint. */
  person = 'a person';
  /** Replaces members of the metadata. */
  metadata: Record<string, unknown> = {};
  /** The id of a client that registers itself. */
  newClientId: () => string = randomUUID;
  /** Answers token requests in place of the server if it returns true. */
  intercept: (request: TokenRequest, response: ServerResponse) => boolean = () => false;
  /** Awaited before each answer to a token request or a revocation. */
  hold: () => Promise<void> = () => Promise.resolve();
  readonly #families: Family[] = [];
  readonly #codes = new Map<string, { query: URLSearchParams; user: string }>();
  readonly #clients = new Map<string, string | null>([[knownClient.client_id, knownClient.client_secret]]);
  readonly #server: Server;
  /** Refresh tokens that were used, by their family. */
  readonly #used = new Map<string, Family>();

  private constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(): Promise<AuthorizationServer> {
    const started = new AuthorizationServer();
    started.#server.listen(0, '127.0.0.1');
    await once(started.#server, 'listening');
    return started;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Lets an MCP server accept the tokens of this server alone, and say where to get them. */
  protect(server: TestMcpServer): void {
    const metadataUrl = new URL('/.well-known/oauth-protected-resource/mcp', server.url).href;
    server.intercept = (request, response) => {
      if (request.path === '/.well-known/oauth-protected-resource/mcp') {
        json(response, 200, { resource: server.url, authorization_servers: [this.issuer] });
        return true;
      }
      if (this.userOf(request) !== null) return false;
      response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadataUrl}"` }).end();
      return true;
    };
  }

  /** The user whose token a request has; null if it has none that counts. */
  userOf({ headers }: Pick<McpRequest, 'headers'>): string | null {
    const token = headers.authorization?.replace(/^Bearer /, '');
    return this.#families.find(({ access, revoked }) => access === token && !revoked)?.user ?? null;
  }

  /** Ends the access tokens of a user, as their expiry does. */
  expire(user: string): void {
    for (const family of this.#families) if (family.user === user) family.access = '';
  }

  /** Ends all tokens of a user. */
  revoke(user: string): void {
    for (const family of this.#families) if (family.user === user) family.revoked = true;
  }

  /** All tokens that count now. */
  get tokens(): string[] {
    return this.#families.flatMap(({ access, refresh }) => [access, refresh]);
  }

  get revoked(): number {
    return this.#families.filter(({ revoked }) => revoked).length;
  }

  /** The callback with its query that a user's browser brings back after the consent. */
  consent(location: string, user: string): URL {
    const { origin, pathname, searchParams: query } = new URL(location);
    if (`${origin}${pathname}` !== `${this.issuer}/authorize`) throw new Error(`not a consent: ${location}`);
    if (!this.#clients.has(query.get('client_id') ?? '')) throw new Error('the client is unknown');
    const code = randomUUID();
    this.#codes.set(code, { query, user });
    const back = new URL(query.get('redirect_uri') ?? '');
    back.search = new URLSearchParams({
      code,
      state: query.get('state') ?? '',
      iss: this.issuer,
    }).toString();
    return back;
  }

  /** Forgets the clients that registered themselves. */
  forgetClients(): void {
    for (const id of this.#clients.keys()) if (id !== knownClient.client_id) this.#clients.delete(id);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    if (request.url?.startsWith('/authorize?') === true) {
      response.writeHead(303, { location: this.consent(this.issuer + request.url, this.person).href }).end();
      return;
    }
    switch (`${request.method} ${request.url}`) {
      case 'GET /.well-known/oauth-authorization-server':
        json(response, 200, {
          issuer: this.issuer,
          authorization_endpoint: `${this.issuer}/authorize`,
          token_endpoint: `${this.issuer}/token`,
          registration_endpoint: `${this.issuer}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
          authorization_response_iss_parameter_supported: true,
          ...this.metadata,
        });
        return;
      case 'POST /register': {
        const client = { ...(JSON.parse(body) as object), client_id: this.newClientId() };
        this.#clients.set(client.client_id, null);
        this.registrations.push(client);
        json(response, 201, client);
        return;
      }
      case 'POST /token':
        await this.#token(request, response, new URLSearchParams(body));
        return;
      case 'POST /revoke':
        await this.#revoke(request, response, new URLSearchParams(body));
        return;
      default:
        response.writeHead(404).end();
    }
  }

  async #token(request: IncomingMessage, response: ServerResponse, form: URLSearchParams): Promise<void> {
    const grant = form.get('grant_type') ?? '';
    const asked = { grant, form, authorization: request.headers.authorization };
    this.tokenRequests.push(asked);
    await this.hold();
    if (this.intercept(asked, response)) return;
    const clientId = this.#clientOf(asked);
    const family = clientId === null ? null : this.#familyOf(asked, clientId);
    if (family !== null) this.#give(response, family);
    else if (clientId === null) refuse(response, 401, 'invalid_client');
    else refuse(response, 400, 'invalid_grant');
  }

  /** Ends the family of a token (RFC 7009); a token that is unknown is no error. */
  async #revoke(
    { headers }: IncomingMessage,
    response: ServerResponse,
    form: URLSearchParams,
  ): Promise<void> {
    const asked = { grant: '', form, authorization: headers.authorization };
    this.revocations.push(asked);
    await this.hold();
    if (this.intercept(asked, response)) return;
    const clientId = this.#clientOf(asked);
    const token = form.get('token');
    const family = this.#families.find(({ access, refresh }) => access === token || refresh === token);
    if (clientId === null) {
      refuse(response, 401, 'invalid_client');
      return;
    }
    if (family?.clientId === clientId) family.revoked = true;
    response.writeHead(200).end();
  }

  /** The tokens that a request is for; null if it has no right to any. */
  #familyOf({ grant, form }: TokenRequest, clientId: string): Family | null {
    if (grant === 'client_credentials') return this.#family(`client ${clientId}`, clientId);
    if (grant === 'authorization_code') {
      const user = this.#redeem(form, clientId);
      return user === null ? null : this.#family(user, clientId);
    }
    const refresh = form.get('refresh_token') ?? '';
    const reused = this.#used.get(refresh);
    if (reused !== undefined) reused.revoked = true;
    const family = this.#families.find((each) => each.refresh === refresh && !each.revoked);
    if (family?.clientId !== clientId) return null;
    this.#used.set(refresh, family);
    family.access = randomUUID();
    family.refresh = randomUUID();
    return family;
  }

  #clientOf({ form, authorization }: TokenRequest): string | null {
    const basic = Buffer.from(authorization?.replace(/^Basic /, '') ?? '', 'base64')
      .toString()
      .split(':');
    const id = form.get('client_id') ?? basic[0] ?? '';
    const secret = form.get('client_secret') ?? basic[1] ?? null;
    return this.#clients.has(id) && this.#clients.get(id) === secret ? id : null;
  }

  /** The user of a code, which is good once. */
  #redeem(form: URLSearchParams, clientId: string): string | null {
    const code = form.get('code') ?? '';
    const known = this.#codes.get(code);
    this.#codes.delete(code);
    if (known === undefined) return null;
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isSame =
      known.query.get('code_challenge') === challenge &&
      known.query.get('code_challenge_method') === 'S256' &&
      known.query.get('client_id') === clientId &&
      known.query.get('redirect_uri') === form.get('redirect_uri');
    return isSame ? known.user : null;
  }

  #family(user: string, clientId: string): Family {
    const family = { user, clientId, access: randomUUID(), refresh: randomUUID(), revoked: false };
    this.#families.push(family);
    return family;
  }

  #give(response: ServerResponse, { access, refresh }: Family): void {
    json(response, 200, {
      access_token: access,
      token_type: 'Bearer',
      ...(this.expiresIn !== undefined && { expires_in: this.expiresIn }),
      ...(this.gives.refresh && { refresh_token: refresh }),
      ...this.tokenMembers,
    });
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function refuse(response: ServerResponse, status: number, error: string): void {
  json(response, status, { error, error_description: 'a text of the server' });
}
