import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a provider answers. */
export interface ProviderAnswer {
  status: number;
  headers?: Record<string, string>;
  body: unknown;
}

/** A call of a provider's API. */
export interface ProviderCall {
  path: string;
  authorization: string | undefined;
  body: Record<string, unknown>;
}

/** A server that stands in for the API of a provider, by its documentation. */
export class ProviderServer {
  /** Those that were answered with success. */
  readonly calls: ProviderCall[] = [];
  /** The next answers, before those of the provider. */
  readonly failures: ProviderAnswer[] = [];
  readonly #server: Server;
  readonly #answer: (call: ProviderCall) => ProviderAnswer;

  private constructor(answer: (call: ProviderCall) => ProviderAnswer) {
    this.#answer = answer;
    this.#server = createServer((request, response) => {
      void readJson(request).then((body) => {
        const { url: path = '', headers } = request;
        const call = { path, authorization: headers.authorization, body };
        const failure = path.endsWith('essage') ? this.failures.shift() : undefined;
        const answered = failure ?? this.#answer(call);
        if (failure === undefined && answered.status === 200) this.calls.push(call);
        const json = { 'content-type': 'application/json', ...answered.headers };
        response.writeHead(answered.status, json).end(JSON.stringify(answered.body));
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

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
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
    if (method !== 'sendMessage') return { status: 200, body: { ok: true, result: true } };
    const text = String(body['text']);
    if (text.length > 4_096) return refused(400, 'Bad Request: message is too long');
    if (body['parse_mode'] === 'HTML' && /<(?!\/?(?:b|i|s|code|pre|blockquote|a)\b)/.test(text))
      return refused(400, "Bad Request: can't parse entities: Unsupported start tag");
    messageId += 1;
    return { status: 200, body: { ok: true, result: { message_id: messageId, text } } };
  });
}

/** Slack, with apps that have these tokens. */
export function startSlack(tokens: Set<string>): Promise<ProviderServer> {
  return ProviderServer.start(({ authorization = '', body }) => {
    if (!tokens.has(authorization.replace('Bearer ', '')))
      return { status: 200, body: { ok: false, error: 'invalid_auth' } };
    if (body['channel'] === 'C-gone') return { status: 200, body: { ok: false, error: 'channel_not_found' } };
    return { status: 200, body: { ok: true, ts: '1700000001.000200' } };
  });
}
