import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expositionOf, type Registry } from '@gatehouse/kit/metrics';

export interface AdminServerOptions {
  host: string;
  port: number;
  metrics: readonly Registry[];
  /** Names of what the service still needs before it can work; it is ready when the list is empty. */
  missing: () => Promise<readonly string[]>;
}

/**
 * Serves the platform, never clients: `/livez` (200 while the process runs), `/readyz` (200 or 503, whether the service
 * can work) and `/metrics` (Prometheus text format).
 */
export class AdminServer {
  readonly #server: Server;
  readonly #options: AdminServerOptions;

  constructor(options: AdminServerOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      void this.#answer(request.url ?? '/').then(({ status, type, body }) => {
        response.writeHead(status, { 'content-type': type }).end(body);
      });
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#options.port, this.#options.host, resolve);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(url: string): Promise<{ status: number; type: string; body: string }> {
    const plain = 'text/plain; charset=utf-8';
    if (url === '/livez') return { status: 200, type: plain, body: 'ok\n' };
    if (url === '/readyz') {
      const missing = await this.#options.missing();
      return missing.length === 0
        ? { status: 200, type: plain, body: 'ok\n' }
        : { status: 503, type: plain, body: `not ready: ${missing.join(', ')}\n` };
    }
    if (url === '/metrics') {
      const { contentType, text } = await expositionOf(this.#options.metrics);
      return { status: 200, type: contentType, body: text };
    }
    return { status: 404, type: plain, body: 'not found\n' };
  }
}
