import type { EventEmitter } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { newId } from '@gatehouse/kit/ids';
import { Yallist } from 'yallist';
import { inviteWhenRead } from './expect-continue.ts';
import { requestIdHeader } from './request-context.ts';
import { sweepsPerTimeout, UnreadCheck, type UnreadResponses } from './unread-responses.ts';

export interface HttpServerOptions {
  host: string;
  port: number;
  /** How long requests in flight may take to finish once `stop` is called. */
  drainTimeoutMs: number;
  /** Told when that time is over: ends what is in flight in words of its own, and has a second for it. */
  cut?: () => void;
  /** If unset, connections of clients that don't read are never closed. */
  unread?: UnreadResponses;
}

/**
 * While draining, a kept connection is closed this long after its answer: a client that asks on at once is answered,
 * and told to close, where a connection closed under its request would be an error.
 */
const lingerMs = 500;

/** From `cut` to the end of all connections: a connection that is reset takes with it what its client has not read. */
const partingMs = 1_000;

/** The error for what is not HTTP, or for headers that arrive too slowly. Nothing was read: its request id is new. */
function invalidHttp(late = false): { headers: Record<string, string | number>; body: string } {
  const requestId = newId();
  const error = {
    message: late ? 'The request headers arrived too slowly.' : 'The request is not valid HTTP.',
    type: late ? 'timeout_error' : 'invalid_request_error',
    code: late ? 'request_timeout' : 'invalid_http',
    param: null,
    request_id: requestId,
  };
  const body = JSON.stringify({ error });
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    [requestIdHeader]: requestId,
    connection: 'close',
  };
  return { headers, body };
}

/** By Node's error code; anything else is 400. */
const invalidHttpStatus: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/**
 * Lists the entry of a stream until that closes. In a linked list, not in a `Set`: the tables that a busy set outgrows
 * hold on to what was in them, and through each other, until the whole heap is collected (ADR 21).
 */
function listWhileOpen<Entry>(list: Yallist<Entry>, stream: EventEmitter, entry: Entry): void {
  list.push(entry);
  const node = list.tail;
  stream.once('close', () => {
    if (node !== undefined) list.removeNode(node);
  });
}

interface Connection {
  socket: Socket;
  unread: UnreadCheck;
}

/** A listening HTTP server that can drain: it answers what is in flight and takes nothing new. */
export class HttpServer {
  readonly #server: Server;
  readonly #options: HttpServerOptions;
  readonly #connections = new Yallist<Connection>();
  readonly #answers = new Yallist<ServerResponse>();
  #draining = false;
  #sweep: NodeJS.Timeout | undefined;

  constructor(listener: RequestListener, options: HttpServerOptions) {
    this.#options = options;
    this.#server = createServer(
      // Longer than any client's in front of it keeps an idle connection, so that we never close one under a request.
      // Node's own answer to a missing Host has no body; ours has, as every error.
      {
        keepAliveTimeout: 75_000,
        keepAliveTimeoutBuffer: 0,
        headersTimeout: 60_000,
        // A body may take long as long as it arrives at its pace, which its reader checks (PaceWatch).
        requestTimeout: 0,
        noDelay: true,
        requireHostHeader: false,
      },
    );
    const serve: RequestListener = (request, response) => {
      listWhileOpen(this.#answers, response, response);
      if (this.#draining) response.setHeader('connection', 'close');
      if (request.headers.host === undefined && request.httpVersion === '1.1') {
        const { headers, body } = invalidHttp();
        response.writeHead(400, headers).end(body);
      } else {
        listener(request, response);
      }
    };
    this.#server.on('request', serve);
    this.#server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      inviteWhenRead(request, response);
      serve(request, response);
    });
    // Other expectations are nothing we know of; Node's own answer to them would have no body.
    this.#server.on('checkExpectation', serve);
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (!socket.writable) return;
      const status = invalidHttpStatus[error.code ?? ''] ?? '400 Bad Request';
      const { headers, body } = invalidHttp(error.code === 'ERR_HTTP_REQUEST_TIMEOUT');
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`);
    });
    this.#server.on('connection', (socket) => {
      listWhileOpen(this.#connections, socket, { socket, unread: new UnreadCheck(socket) });
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
    const { unread } = this.#options;
    if (unread === undefined) return;
    this.#sweep = setInterval(() => this.#cutUnread(unread), unread.timeoutMs / sweepsPerTimeout).unref();
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /**
   * From now on every answer ends its connection, so that clients turn to other replicas; requests are taken as
   * before, over new connections too. Idle connections stay: one closed as its client writes would fail that request.
   */
  drain(): void {
    this.#draining = true;
    this.#server.keepAliveTimeout = lingerMs;
    for (const answer of this.#answers) if (!answer.headersSent) answer.setHeader('connection', 'close');
  }

  /** Closes the door, waits for requests in flight up to the drain time, then cuts what is left. */
  async stop(): Promise<void> {
    this.drain();
    if (!this.#server.listening) return;
    // This closes the idle connections, too.
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const { drainTimeoutMs, cut } = this.#options;
    const timers = [
      // Node counts a connection that never carried a request as busy; of a new one the request may be on its way.
      setTimeout(() => this.#closeUnused(), lingerMs),
      setTimeout(() => cut?.(), drainTimeoutMs),
      setTimeout(
        () => this.#server.closeAllConnections(),
        drainTimeoutMs + (cut === undefined ? 0 : partingMs),
      ),
    ];
    await closed;
    timers.forEach(clearTimeout);
    clearInterval(this.#sweep);
  }

  #cutUnread({ onCut }: UnreadResponses): void {
    for (const { socket, unread } of this.#connections) {
      if (!unread.sweep()) continue;
      onCut(socket.writableLength);
      socket.destroy();
    }
  }

  #closeUnused(): void {
    for (const { socket } of this.#connections) if (socket.bytesRead === 0) socket.destroy();
  }
}
