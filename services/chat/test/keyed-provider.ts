import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An error in place of an answer. */
export interface Refusal {
  status: number;
  headers?: Record<string, string>;
  /** In place of an error of OpenAI's API. */
  body?: object;
}

export interface KeyedCall {
  key: string;
  model: string;
  /** The content of the last message. */
  content: string;
}

/**
 * A provider of OpenAI's API that refuses the keys which a test names, and notes the key of each call. Calls of other APIs
 * can only be refused.
 */
export class KeyedProvider {
  readonly calls: KeyedCall[] = [];
  /** By the key. */
  readonly refusals = new Map<string, Refusal>();
  readonly #server: Server;
  #port = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      void this.#answer(request, response);
    });
  }

  static async start(): Promise<KeyedProvider> {
    const provider = new KeyedProvider();
    await provider.goOn();
    return provider;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#port}/v1`;
  }

  /** Accepts connections, at the same address each time. */
  async goOn(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Refuses connections. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  /** The calls since the last time. */
  taken(): KeyedCall[] {
    return this.calls.splice(0);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = Buffer.concat((await request.toArray()) as Buffer[]).toString();
    const { authorization, ...headers } = request.headers;
    const named = ['x-goog-api-key', 'x-api-key', 'api-key'].map((name) => headers[name]);
    const key = String(named.find((value) => value !== undefined) ?? authorization).replace('Bearer ', '');
    if (request.method === 'GET') {
      response.writeHead(this.refusals.get(key)?.status ?? 200).end();
      return;
    }
    const body = JSON.parse(text) as { model: string; stream?: boolean; messages?: { content: string }[] };
    this.calls.push({ key, model: body.model, content: body.messages?.at(-1)?.content ?? '' });
    const refusal = this.refusals.get(key);
    if (refusal !== undefined) {
      const openAi = { error: { message: `not with ${key}`, type: 'x', code: 'x' } };
      const error = JSON.stringify(refusal.body ?? openAi);
      response
        .writeHead(refusal.status, { 'content-type': 'application/json', ...refusal.headers })
        .end(error);
    } else if (body.stream === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
    } else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole));
  }
}

const head = { id: 'c', created: 1, model: 'm' };
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const whole = {
  ...{ ...head, object: 'chat.completion', usage },
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
};
const chunk = {
  ...{ ...head, object: 'chat.completion.chunk', usage },
  choices: [{ index: 0, delta: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
};
