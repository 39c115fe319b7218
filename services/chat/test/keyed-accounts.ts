import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';

/** A provider with an account for each key, which has its own files and batches alone. */
export class KeyedAccounts {
  /** By the key. */
  readonly accounts = new Map<string, ProviderSimulator>();
  /** The statuses that keys are refused with. */
  readonly refusals = new Map<string, number>();
  /** Each as key, method and path. */
  readonly calls: string[] = [];
  readonly #server = createServer((request, response) => this.#answer(request, response));

  static async start(...keys: readonly string[]): Promise<KeyedAccounts> {
    const provider = new KeyedAccounts();
    for (const key of keys) await provider.open(key);
    provider.#server.listen(0, '127.0.0.1');
    await once(provider.#server, 'listening');
    return provider;
  }

  /** For clients of Anthropic. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get baseUrl(): string {
    return `${this.url}/v1`;
  }

  /** Opens an account. */
  async open(key: string): Promise<ProviderSimulator> {
    const account = await startProviderSimulator();
    this.accounts.set(key, account);
    return account;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
    for (const account of this.accounts.values()) await account.close();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { authorization = '', 'x-api-key': ofAnthropic, ...headers } = request.headers;
    const key = String(ofAnthropic ?? authorization.replace('Bearer ', ''));
    const { method = '', url: path = '' } = request;
    this.calls.push(`${key} ${method} ${path}`);
    const account = this.accounts.get(key);
    const status = this.refusals.get(key) ?? (account === undefined ? 401 : null);
    if (account === undefined || status !== null) {
      request.resume();
      const error = { error: { message: `not with ${key}`, type: 'x', code: 'x' } };
      response.writeHead(status ?? 401, { 'content-type': 'application/json' }).end(JSON.stringify(error));
      return;
    }
    const passed = httpRequest(`${account.url}${path}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  }
}
