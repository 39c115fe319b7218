import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';

export type TokenClaims = Record<string, unknown>;

type Answer = [status: number, body: unknown, headers?: Record<string, string> | undefined];

const unavailable: Answer = [503, { error: 'temporarily_unavailable' }];

/** An issuer that signs whatever a test wants, as a broken or hostile one would. It speaks the protocol over a socket. */
export class ForgingIssuer {
  readonly #server: Server;
  #key: { id: string; sign: CryptoKey } | null = null;
  #published: JWK[] = [];
  /** Codes that were exchanged, and the forms of all calls of the token endpoint. */
  readonly calls: URLSearchParams[] = [];
  /** The claims of the next tokens, over those of a good one. */
  claims: TokenClaims = {};
  /** The answer of the token endpoint in place of tokens. */
  tokenAnswer: { status: number; body: unknown; headers?: Record<string, string> } | null = null;
  /** Whether all endpoints answer 503, and people for whose refresh tokens the token endpoint does. */
  away = false;
  readonly awayFor = new Set<string>();
  /** The nonces of the codes that it has given out and that were not exchanged. */
  readonly #nonces = new Map<string, string>();
  /** The claims of renewed tokens of a person by `sub`, over those of the login; null for a renewal without ID token. */
  readonly renewals = new Map<string, TokenClaims | null>();
  /** People whose refresh tokens are good no more. */
  readonly revoked = new Set<string>();
  /** Requests of `/revoke`, which the metadata has to name. */
  readonly revocations: URLSearchParams[] = [];
  /** Answers of the endpoints for tokens and revocations wait for it. */
  held: Promise<void> | null = null;
  /** The claims of the login that a refresh token is of. Each is good once. */
  readonly #refreshTokens = new Map<string, TokenClaims>();
  /** The answer of the userinfo endpoint, which the metadata names while there is one; a text is sent as a JWT. */
  userInfo: { status: number; body: unknown } | null = null;
  /** The values of `Authorization` at the userinfo endpoint. */
  readonly userInfoCalls: (string | undefined)[] = [];
  /** Members of the metadata, over the usual ones. */
  metadata: Record<string, unknown> = {};

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<ForgingIssuer> {
    const server = createServer();
    const issuer = new ForgingIssuer(server);
    server.on('request', (request, response) => {
      void issuer.#answer(request).then(([status, body, headers]) => {
        const usual = { 'content-type': 'application/json', 'cache-control': 'no-store' };
        response.writeHead(status, { ...usual, ...headers });
        response.end(typeof body === 'string' ? body : JSON.stringify(body));
      });
    });
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    await issuer.rotate();
    return issuer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  /** Signs with a new key. The old one is published no more. */
  async rotate({ publishes = true } = {}): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair('RS256');
    const id = `key-${Math.random()}`;
    this.#key = { id, sign: privateKey };
    if (publishes) this.#published = [{ ...(await exportJWK(publicKey)), kid: id, alg: 'RS256', use: 'sig' }];
  }

  /** The code of a person that has logged in, for the nonce of an authorization URL. */
  code(authorizationUrl: string): string {
    const code = `code-${Math.random()}`;
    this.#nonces.set(code, new URL(authorizationUrl).searchParams.get('nonce') ?? '');
    return code;
  }

  /** A token with these claims, of the type `JWT` unless another is given. */
  async sign(claims: TokenClaims, type = 'JWT'): Promise<string> {
    if (this.#key === null) throw new Error('there is no key');
    const present = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
    return new SignJWT(present)
      .setProtectedHeader({ alg: 'RS256', kid: this.#key.id, typ: type })
      .sign(this.#key.sign);
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const form = new URLSearchParams(await textOf(request));
    if (this.away) return unavailable;
    const asked = new URL(request.url ?? '', this.url);
    switch (asked.pathname) {
      case '/authorize':
        return this.#authorize(asked);
      case '/.well-known/openid-configuration':
        return [200, { ...this.#metadata(), ...this.metadata }];
      case '/keys':
        return [200, { keys: this.#published }];
      case '/token':
        return this.#token(form);
      case '/userinfo':
        return this.#answerUserInfo(request);
      case '/revoke':
        this.revocations.push(form);
        await this.held;
        this.#refreshTokens.delete(form.get('token') ?? '');
        return [200, {}];
      default:
        return [404, {}];
    }
  }

  #answerUserInfo({ headers }: IncomingMessage): Answer {
    this.userInfoCalls.push(headers.authorization);
    const { status, body } = this.userInfo ?? { status: 404, body: {} };
    return [status, body, typeof body === 'string' ? { 'content-type': 'application/jwt' } : undefined];
  }

  /** Sends a browser back as the person that is logged in here. */
  #authorize(asked: URL): Answer {
    const back = new URL(asked.searchParams.get('redirect_uri') ?? '');
    back.searchParams.set('code', this.code(asked.href));
    back.searchParams.set('state', asked.searchParams.get('state') ?? '');
    back.searchParams.set('iss', this.url);
    return [303, {}, { location: back.href }];
  }

  #metadata(): Record<string, unknown> {
    return {
      issuer: this.url,
      authorization_endpoint: `${this.url}/authorize`,
      token_endpoint: `${this.url}/token`,
      jwks_uri: `${this.url}/keys`,
      end_session_endpoint: `${this.url}/logout`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      authorization_response_iss_parameter_supported: true,
    };
  }

  async #token(form: URLSearchParams): Promise<Answer> {
    this.calls.push(form);
    await this.held;
    if (this.tokenAnswer !== null)
      return [this.tokenAnswer.status, this.tokenAnswer.body, this.tokenAnswer.headers];
    const known = this.#refreshTokens.get(form.get('refresh_token') ?? '');
    if (known !== undefined && this.awayFor.has(String(known['sub']))) return unavailable;
    const claims = form.get('grant_type') === 'refresh_token' ? this.#renew(form) : this.#exchange(form);
    return claims === undefined ? [400, { error: 'invalid_grant' }] : [200, await this.#tokensOf(claims)];
  }

  #exchange(form: URLSearchParams): TokenClaims | undefined {
    const code = form.get('code') ?? '';
    const nonce = this.#nonces.get(code);
    this.#nonces.delete(code);
    if (nonce === undefined) return undefined;
    return { sub: 'ada', nonce, name: 'Ada Lovelace', groups: ['engineers'], ...this.claims };
  }

  #renew(form: URLSearchParams): TokenClaims | undefined {
    const token = form.get('refresh_token') ?? '';
    const claims = this.#refreshTokens.get(token);
    this.#refreshTokens.delete(token);
    return claims === undefined || this.revoked.has(String(claims['sub'])) ? undefined : claims;
  }

  async #tokensOf(claims: TokenClaims): Promise<Record<string, unknown>> {
    const now = Math.floor(Date.now() / 1_000);
    const renewed = this.renewals.get(String(claims['sub']));
    const idToken = await this.sign({
      ...{ iss: this.url, aud: 'gatehouse', iat: now, exp: now + 300 },
      ...claims,
      ...renewed,
    });
    const refreshToken = `refresh-${Math.random()}`;
    this.#refreshTokens.set(refreshToken, claims);
    return {
      ...{ access_token: 'access', token_type: 'bearer', expires_in: 300, refresh_token: refreshToken },
      ...(renewed !== null && { id_token: idToken }),
    };
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts).toString();
}
