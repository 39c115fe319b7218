import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer of a provider; a text is a page, all else is JSON. */
export interface ProviderAnswer {
  status: number;
  headers?: Record<string, string>;
  body: unknown;
}

/** A call of a provider's API. */
export interface ProviderCall {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

/** The paths by which replies are sent to each provider. */
const isMessage = /(?:essage|\/message\/cs)$/;

/** A server that stands in for the API of a provider, by its documentation. */
export class ProviderServer {
  /** Those that were answered with success. */
  readonly calls: ProviderCall[] = [];
  /** The next answers to messages, before those of the provider. */
  readonly failures: ProviderAnswer[] = [];
  /** The answer to a message in place of taking it; null if it is taken. */
  trouble: (call: ProviderCall) => ProviderAnswer | null = () => null;
  /** Sees every call, however it is answered. */
  onCall: (call: ProviderCall) => unknown = () => undefined;
  readonly #server: Server;
  readonly #answer: (call: ProviderCall) => ProviderAnswer;

  private constructor(answer: (call: ProviderCall) => ProviderAnswer) {
    this.#answer = answer;
    this.#server = createServer((request, response) => {
      void readBody(request).then((body) => {
        const { url: path = '', headers } = request;
        const call = { path, headers, body };
        this.onCall(call);
        const failure = isMessage.test(path) ? (this.failures.shift() ?? this.trouble(call)) : null;
        const answered = failure ?? this.#answer(call);
        // Zalo answers errors with 200.
        const { error } = answered.body as { error?: number };
        if (failure === null && answered.status === 200 && (error ?? 0) === 0) this.calls.push(call);
        const isPage = typeof answered.body === 'string';
        const type = { 'content-type': isPage ? 'text/html' : 'application/json' };
        const text = isPage ? String(answered.body) : JSON.stringify(answered.body);
        response.writeHead(answered.status, { ...type, ...answered.headers }).end(text);
      });
    });
  }

  static async start(answer: (call: ProviderCall) => ProviderAnswer): Promise<ProviderServer> {
    const provider = new ProviderServer(answer);
    await new Promise<void>((resolve) => provider.#server.listen(0, '127.0.0.1', resolve));
    return provider;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The bodies of calls of a method, the oldest first. */
  bodies(method: string): Record<string, unknown>[] {
    return this.calls.filter(({ path }) => path.endsWith(method)).map(({ body }) => body);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** A form, or JSON. */
async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  if (request.headers['content-type']?.includes('form') === true)
    return Object.fromEntries(new URLSearchParams(text));
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

/** Telegram, with bots that have these tokens. */
export function startTelegram(tokens: Set<string>): Promise<ProviderServer> {
  let messageId = 100;
  return ProviderServer.start(({ path, body }) => {
    const [, token = '', method = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(path) ?? [];
    const refused = (error_code: number, description: string): ProviderAnswer => ({
      status: error_code,
      body: { ok: false, error_code, description },
    });
    if (!tokens.has(token)) return refused(401, 'Unauthorized');
    if (method === 'setWebhook')
      return { status: 200, body: { ok: true, result: true, description: 'Webhook was set' } };
    if (method !== 'sendMessage') return { status: 200, body: { ok: true, result: true } };
    const text = String(body['text']);
    if (text.length > 4_096) return refused(400, 'Bad Request: message is too long');
    if (body['parse_mode'] === 'HTML' && /<(?!\/?(?:b|i|s|code|pre|blockquote|a)\b)/.test(text))
      return refused(400, "Bad Request: can't parse entities: Unsupported start tag");
    messageId += 1;
    return { status: 200, body: { ok: true, result: { message_id: messageId, text } } };
  });
}

/** Slack, with apps that have these tokens. The direct conversation with `U1` is `D1`. */
export function startSlack(tokens: Set<string>): Promise<ProviderServer> {
  return ProviderServer.start(({ headers: { authorization = '' }, body }) => {
    if (!tokens.has(authorization.replace('Bearer ', '')))
      return { status: 200, body: { ok: false, error: 'invalid_auth' } };
    if (body['channel'] === 'C-gone') return { status: 200, body: { ok: false, error: 'channel_not_found' } };
    const channel = String(body['channel']).replace(/^U/, 'D');
    return { status: 200, body: { ok: true, channel, ts: '1700000001.000200' } };
  });
}

/** Zalo: codes and refresh tokens are good for one use, and a new access token ends the one before. */
export class ZaloAccount {
  /** How long access tokens are good for. */
  expiresIn = '90000';
  accessToken = '';
  refreshToken = '';
  /** Successful refreshes. */
  refreshes = 0;
  /** The account that the tokens are for, as the Open API names it. */
  accountAnswer = (oaId: string): ProviderAnswer => ({
    status: 200,
    body: { error: 0, message: 'Success', data: { oa_id: oaId, name: 'Official Account' } },
  });
  readonly #codes = new Map<string, { challenge: string; oaId: string }>();
  #oaId = '';

  /** Consents as the person on Zalo's page: returns the query that the browser brings back. */
  consent(location: string, oaId = '5550001'): string {
    const asked = new URL(location).searchParams;
    const code = randomBytes(8).toString('hex');
    this.#codes.set(code, { challenge: asked.get('code_challenge') ?? '', oaId });
    return new URLSearchParams({ code, oa_id: oaId, state: asked.get('state') ?? '' }).toString();
  }

  answer({ path, headers, body }: ProviderCall): ProviderAnswer {
    if (path.startsWith('/v4/oa/permission')) return { status: 200, body: this.#page(path) };
    if (path === '/v4/oa/access_token') return { status: 200, body: this.#token(headers, body) };
    if (headers['access_token'] !== this.accessToken || this.accessToken === '')
      return { status: 200, body: { error: -216, message: 'Access token is invalid' } };
    if (path === '/v2.0/oa/getoa') return this.accountAnswer(this.#oaId);
    return { status: 200, body: { error: 0, message: 'Success', data: { message_id: 'zalo-1' } } };
  }

  /** Zalo's own consent page, whose link gives the consent. */
  #page(path: string): string {
    const asked = new URL(path, 'http://zalo');
    const back = `${asked.searchParams.get('redirect_uri') ?? ''}?${this.consent(asked.href)}`;
    return `<!doctype html><title>Zalo</title><a href="${back.replaceAll('&', '&amp;')}">Allow</a>`;
  }

  #token(headers: IncomingHttpHeaders, body: Record<string, unknown>): object {
    if (headers['secret_key'] !== 'zalo-app-secret')
      return { error: -14_004, error_name: 'Invalid secret key' };
    if (body['grant_type'] === 'refresh_token') {
      if (body['refresh_token'] !== this.refreshToken)
        return { error: -14_014, error_name: 'Invalid refresh token' };
      this.refreshes += 1;
      return this.#issue();
    }
    const code = String(body['code']);
    const asked = this.#codes.get(code);
    this.#codes.delete(code);
    const given = createHash('sha256').update(String(body['code_verifier'])).digest('base64url');
    if (asked?.challenge !== given) return { error: -14_019, error_name: 'Invalid code' };
    this.#oaId = asked.oaId;
    return this.#issue();
  }

  #issue(): object {
    this.accessToken = randomBytes(16).toString('hex');
    this.refreshToken = randomBytes(16).toString('hex');
    return { access_token: this.accessToken, refresh_token: this.refreshToken, expires_in: this.expiresIn };
  }
}

/** The header by which Zalo proves a message to an app. */
export function zaloHeaders(
  { app, secret }: { app: string; secret: string },
  body: string,
): Record<string, string> {
  const { timestamp } = JSON.parse(body) as { timestamp: string };
  const hash = createHash('sha256').update(`${app}${body}${timestamp}${secret}`).digest('hex');
  return { 'x-zevent-signature': `mac=${hash}` };
}
