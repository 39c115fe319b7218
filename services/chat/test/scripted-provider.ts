import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as a provider received it. */
export interface ReceivedRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  response: ServerResponse;
}

/** Answers a request; the default ends without a body. */
export type Script = (request: ReceivedRequest) => unknown;

/** A provider that answers byte for byte what a test writes, in turn. */
export class ScriptedProvider {
  readonly received: ReceivedRequest[] = [];
  readonly #scripts: Script[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void request.toArray().then((chunks) => {
        const { url: path = '', headers } = request;
        const received = { path, headers, body: Buffer.concat(chunks as Buffer[]), response };
        this.received.push(received);
        const script = this.#scripts.shift();
        if (script === undefined) response.writeHead(500).end();
        else script(received);
      });
    });
  }

  static async start(): Promise<ScriptedProvider> {
    const provider = new ScriptedProvider();
    provider.#server.listen(0, '127.0.0.1');
    await once(provider.#server, 'listening');
    return provider;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Prepares the answers to the next requests. */
  answer(...scripts: readonly Script[]): void {
    this.received.length = 0;
    this.#scripts.splice(0, Infinity, ...scripts);
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** A whole answer. */
export const whole =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Script =>
  ({ response }) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body));

/** A stream of these frames; `cut`: closes the connection behind them. */
export const streamed =
  (frames: readonly string[], { cut = false } = {}): Script =>
  async ({ response }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    for (const frame of frames) {
      response.write(frame);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    if (cut) response.destroy();
    else response.end();
  };
