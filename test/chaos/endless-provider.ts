import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Chunks of a stream without end, or one chunk without end. */
export type EndlessKind = 'endless-stream' | 'endless-frame';

const endless: Record<EndlessKind, { first: string; again: string }> = {
  'endless-stream': { first: chunk('first'), again: chunk('x'.repeat(4_000)) },
  'endless-frame': { first: chunk('first').slice(0, -20), again: 'x'.repeat(16_000) },
};

function chunk(content: string): string {
  const choices = [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }];
  const fields = { id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm', choices };
  return `data: ${JSON.stringify(fields)}\n\n`;
}

/** A provider that sends without end what a request's text asks for, and passes all other requests on. */
export class EndlessProvider {
  /** Base URL of the provider for all other requests. */
  others = '';
  /** Endless answers that began, and those whose connection was closed. */
  opened = 0;
  closed = 0;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (incoming: IncomingMessage, response: ServerResponse) => {
      void this.#answer(incoming, response);
    });
  }

  static async start(): Promise<EndlessProvider> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new EndlessProvider(server);
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  reset(): void {
    this.opened = 0;
    this.closed = 0;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces);
    const kind = (Object.keys(endless) as EndlessKind[]).find((name) => body.includes(`"${name}"`));
    if (kind === undefined) this.#passOn(incoming, body, response);
    else this.#sendEndless(endless[kind], response);
  }

  #sendEndless({ first, again }: { first: string; again: string }, response: ServerResponse): void {
    this.opened += 1;
    response.on('close', () => (this.closed += 1));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(first);
    const more = (): void => {
      while (!response.destroyed && response.write(again));
    };
    response.on('drain', more);
    more();
  }

  #passOn(incoming: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const path = (incoming.url ?? '').replace(/^\/v1/, '');
    const { method, headers } = incoming;
    const outgoing = request(`${this.others}${path}`, { method, headers, agent: false });
    outgoing.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    outgoing.end(body);
  }
}
