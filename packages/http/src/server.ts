import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sleep } from '@gatehouse/kit/clock';

export interface HttpServerOptions {
  host: string;
  port: number;
  /** How long requests in flight may take to finish once `stop` is called. */
  drainTimeoutMs: number;
}

/** A listening HTTP server that can drain: it answers what is in flight and takes nothing new. */
export class HttpServer {
  readonly #server: Server;
  readonly #options: HttpServerOptions;
  #draining = false;

  constructor(listener: RequestListener, options: HttpServerOptions) {
    this.#options = options;
    this.#server = createServer(
      // Longer than any client's in front of it keeps an idle connection, so that we never close one under a request.
      { keepAliveTimeout: 75_000, requestTimeout: 300_000, noDelay: true },
      (request, response) => {
        if (this.#draining) response.setHeader('connection', 'close');
        listener(request, response);
      },
    );
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (!socket.writable) return;
      const status =
        error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
      const message = 'The request is not valid HTTP.';
      const body = JSON.stringify({
        error: { message, type: 'invalid_request_error', code: 'invalid_http', param: null, request_id: '' },
      });
      socket.end(
        `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
          `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#options.port, this.#options.host, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Closes the door, waits for requests in flight up to the drain time, then cuts what is left. */
  async stop(): Promise<void> {
    this.#draining = true;
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    const patience = new AbortController();
    const cut = sleep(this.#options.drainTimeoutMs, patience.signal).then(
      () => this.#server.closeAllConnections(),
      () => undefined,
    );
    await closed;
    patience.abort();
    await cut;
  }
}
