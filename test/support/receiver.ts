import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  path: string;
  /** By the clock of this machine, in milliseconds. */
  at: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** The receiver's answer: a status, with headers; or nothing, for a receiver that hangs. */
type Answer = { status: number; headers?: Record<string, string>; body?: string } | 'nothing';

/** A tenant's server, to which results and events are sent. */
export class Receiver {
  readonly received: Received[] = [];
  /** By path; 200 otherwise. */
  answer: (path: string, attempt: number, received: Received) => Answer | Promise<Answer> = () => ({
    status: 200,
  });
  readonly #host: string;
  readonly #server: Server;

  private constructor(host: string) {
    this.#host = host;
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const path = request.url ?? '';
        const body = Buffer.concat(chunks).toString();
        const received = { path, at: Date.now(), headers: request.headers, body };
        this.received.push(received);
        void Promise.resolve(this.answer(path, this.at(path).length, received)).then((answer) => {
          if (answer !== 'nothing') response.writeHead(answer.status, answer.headers).end(answer.body);
        });
      });
    });
  }

  static async start(host = '127.0.0.1'): Promise<Receiver> {
    const receiver = new Receiver(host);
    await new Promise<void>((resolve) => receiver.#server.listen(0, host, resolve));
    return receiver;
  }

  url(path: string): string {
    return `http://${this.#host}:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  at(path: string): Received[] {
    return this.received.filter((each) => each.path === path);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
