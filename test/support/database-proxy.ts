import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A proxy to PostgreSQL that can be cut: it closes connections and rejects new ones, like a stopped server. */
export class DatabaseProxy {
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  #port = 0;

  constructor(url: string) {
    this.#target = new URL(url);
  }

  /** The URL of the database through the proxy. */
  get url(): string {
    const url = new URL(this.#target);
    url.hostname = '127.0.0.1';
    url.port = String(this.#port);
    return url.href;
  }

  async open(): Promise<void> {
    const server = createServer((client) => {
      const database = connect(Number(this.#target.port), this.#target.hostname);
      for (const [from, to] of [
        [client, database],
        [database, client],
      ] as const) {
        this.#sockets.add(from);
        from.pipe(to);
        from.on('error', () => to.destroy());
        from.on('close', () => {
          this.#sockets.delete(from);
          to.destroy();
        });
      }
    });
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async cut(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
