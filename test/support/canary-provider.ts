import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startProviderSimulator, type ProviderSimulator } from './provider-simulator/simulator.ts';

/** Faults of a provider, each for all calls of a key. Errors repeat the key, as some providers do. */
export type CanaryFault = 400 | 401 | 403 | 429 | 500 | 529 | 'hangs' | 'cuts' | 'no JSON';

interface CanaryCall {
  /** The first part of the path, which is the provider's own. */
  provider: string;
  key: string;
  /** The text of the request. */
  body: string;
}

/** Providers of all APIs at one address that note the key of each call. */
export class CanaryProvider {
  readonly calls: CanaryCall[] = [];
  /** By the key. */
  readonly faults = new Map<string, CanaryFault>();
  readonly #simulator: ProviderSimulator;
  readonly #server = createServer((request, response) => {
    void this.#answer(request, response);
  });

  private constructor(simulator: ProviderSimulator) {
    this.#simulator = simulator;
  }

  static async start(): Promise<CanaryProvider> {
    const provider = new CanaryProvider(await startProviderSimulator());
    provider.#server.listen(0, '127.0.0.1');
    await once(provider.#server, 'listening');
    return provider;
  }

  /** The address of one of them. */
  urlOf(provider: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${provider}`;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
    await this.#simulator.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat((await request.toArray()) as Buffer[]);
    const { authorization = '', ...headers } = request.headers;
    const named = ['x-api-key', 'x-goog-api-key', 'api-key'].map((name) => headers[name]);
    const key = String(named.find((value) => value !== undefined) ?? authorization.replace('Bearer ', ''));
    const [, provider = '', ...rest] = (request.url ?? '').split('/');
    // A list of models costs nothing, and checks a key before it is used.
    const isCheck = request.method === 'GET' && /models/.test(rest.join('/'));
    if (!isCheck) this.calls.push({ provider, key, body: body.toString() });
    const fault = isCheck ? undefined : this.faults.get(key);
    if (fault === 'hangs') return;
    if (typeof fault === 'number') {
      const error = { message: `Incorrect API key provided: ${key}`, type: key, code: key, param: key };
      const sent = { error, type: 'error', request_id: key, key };
      response
        .writeHead(fault, { 'content-type': 'application/json', 'x-request-id': key, 'x-key': key })
        .end(JSON.stringify(sent));
    } else if (fault === 'no JSON') {
      response.writeHead(200, { 'content-type': 'text/html' }).end(`<p>${key}</p>`);
    } else this.#pass(request, response, { body, path: `/${rest.join('/')}`, cuts: fault === 'cuts' });
  }

  #pass(
    request: IncomingMessage,
    response: ServerResponse,
    { body, path, cuts }: { body: Buffer; path: string; cuts: boolean },
  ): void {
    const { authorization: _key, ...headers } = request.headers;
    const { method = '' } = request;
    const passed = httpRequest(`${this.#simulator.url}${path.replace('/openai/v1', '/v1')}`, {
      method,
      headers,
    });
    passed.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      if (cuts)
        answer.once('data', (chunk: Buffer) =>
          response.write(chunk.subarray(0, 20), () => response.destroy()),
        );
      else answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    passed.end(body);
  }
}
