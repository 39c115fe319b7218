import { createServer as createPlain, type RequestListener } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { AddressInfo, Server } from 'node:net';

/** A server on this machine that counts the connections it gets. */
export class Target {
  connections = 0;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', () => {
      this.connections += 1;
    });
  }

  static async start(answer: RequestListener, tls?: { key: string; cert: string }): Promise<Target> {
    const server = tls === undefined ? createPlain(answer) : createSecure(tls, answer);
    const target = new Target(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return target;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      if ('closeAllConnections' in this.#server) (this.#server.closeAllConnections as () => void)();
    });
  }
}
