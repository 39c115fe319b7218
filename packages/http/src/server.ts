import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import { Server as TcpServer, type AddressInfo, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { hasServiceName, minTlsVersion, type CertificateFiles } from '@gatehouse/kit/certificate-files';
import { newId } from '@gatehouse/kit/ids';
import { OpenList } from '@gatehouse/kit/open-list';
import { inviteWhenRead } from './reply.ts';
import { requestIdHeader } from './request-context.ts';
import { sweepsPerTimeout, UnreadCheck, type UnreadResponses } from './unread-responses.ts';

export interface HttpServerOptions {
  host: string;
  port: number;
  /** How long requests in flight may take to finish after `stop` is called. */
  drainTimeoutMs: number;
  /** Called after this time, to end requests in flight with an error; connections close one second later. */
  cut?: () => void;
  /** If unset, connections of clients are never closed for not reading. */
  unread?: UnreadResponses;
  /** The certificate, started before the server. If unset, connections are not encrypted. */
  certificate?: CertificateFiles | undefined;
  /**
   * Clients need a certificate of the CAs in `certificate` with one of these names. If unset, clients need no certificate.
   */
  clients?: readonly string[] | undefined;
}

/** A client that has not finished its handshake by then is disconnected. */
const handshakeTimeoutMs = 10_000;

/**
 * Once the server stops, an idle connection closes this long after the stop or its last response. A client sending
 * another request at once still gets a response, with `Connection: close`, instead of an error.
 */
const lingerMs = 500;

/** Delay from `cut` to closing all connections: resetting a connection discards data the client has not read. */
const partingMs = 1_000;

/** Response to malformed HTTP, or to headers arriving too slowly. The request id is new, because no id was read. */
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

/** HTTP status by Node error code; any other error is 400. */
const invalidHttpStatus: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Reason for closing a connection with a request still in flight after the drain time. */
class DrainTimeout extends Error {
  constructor() {
    super('the server stopped before the response was complete');
    this.name = 'DrainTimeout';
  }
}

const cutResponses = new WeakSet<ServerResponse>();

/** Marks a response its server ends itself, because it stops, while a handler still works on it. */
export function markCutByStop(response: ServerResponse): void {
  cutResponses.add(response);
}

/** Whether a response closed because its server stopped, and not because its client left. */
export function wasCutByStop(response: ServerResponse): boolean {
  return response.req.socket.errored instanceof DrainTimeout || cutResponses.has(response);
}

interface Connection {
  socket: Socket;
  unread: UnreadCheck;
}

/** A server without a certificate yet if `options` have one. */
function newServer({ certificate, clients }: HttpServerOptions, options: ServerOptions): Server {
  if (certificate === undefined) return createServer(options);
  return createTlsServer({
    ...options,
    minVersion: minTlsVersion,
    handshakeTimeout: handshakeTimeoutMs,
    ...(clients === undefined ? {} : { requestCert: true, rejectUnauthorized: true }),
  });
}

/** Whether a connection failed before any HTTP, so its client can't read a response. */
function isHandshakeError({ code = '' }: NodeJS.ErrnoException): boolean {
  return code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_');
}

/** HTTP server able to drain: it finishes requests in flight and then stops. */
export class HttpServer {
  readonly #server: Server;
  readonly #options: HttpServerOptions;
  readonly #connections = new OpenList<Connection>();
  /** The sockets under encrypted connections, from before the end of their handshake. */
  readonly #encrypted = new OpenList<Socket>();
  readonly #answers = new OpenList<ServerResponse>();
  #draining = false;
  #sweep: NodeJS.Timeout | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(listener: RequestListener, options: HttpServerOptions) {
    this.#options = options;
    this.#server = newServer(options, {
      // Longer than any idle timeout of a client or proxy in front, so a connection never closes as a request is sent.
      keepAliveTimeout: 75_000,
      keepAliveTimeoutBuffer: 0,
      headersTimeout: 60_000,
      // A body may take any time as long as it keeps its minimum rate, which its reader checks (PaceWatch).
      requestTimeout: 0,
      noDelay: true,
      // Checked below: the default response of Node to a missing Host header has no body.
      requireHostHeader: false,
    });
    const serve: RequestListener = (request, response) => {
      if (request.socket.destroyed) return;
      if (!response.closed) response.once('close', this.#answers.add(response));
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
    // Ignores other expectations; the default response of Node would have no body.
    this.#server.on('checkExpectation', serve);
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (!socket.writable) return;
      if (isHandshakeError(error)) {
        socket.destroy();
        return;
      }
      const status = invalidHttpStatus[error.code ?? ''] ?? '400 Bad Request';
      const { headers, body } = invalidHttp(error.code === 'ERR_HTTP_REQUEST_TIMEOUT');
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`);
    });
    if (options.certificate === undefined) {
      this.#server.on('connection', (socket) => this.#add(socket));
    } else {
      this.#server.on('connection', (socket: Socket) => socket.once('close', this.#encrypted.add(socket)));
      // Before the HTTP server's own listener, which may read a request that came with the end of the handshake.
      this.#server.prependListener('secureConnection', (socket: TLSSocket) => {
        if (this.#isClient(socket)) this.#add(socket);
        else socket.destroy();
      });
      if (options.clients !== undefined && this.#server instanceof TlsServer)
        options.certificate.refused.watch(this.#server);
    }
  }

  /** Whether the certificate of a client, signed by the CAs, has one of the names. Logs a wrong one. */
  #isClient(socket: TLSSocket): boolean {
    const { clients, certificate: files } = this.#options;
    if (clients === undefined) return true;
    const certificate = socket.getPeerX509Certificate();
    if (certificate !== undefined && clients.some((name) => hasServiceName(certificate, name))) return true;
    const names = certificate?.subjectAltName ?? 'no DNS name';
    files?.refused.incoming(
      socket.remoteAddress,
      `the certificate has ${names}, not DNS:${clients.join(' or DNS:')}`,
    );
    return false;
  }

  #add(socket: Socket): void {
    if (!socket.closed)
      socket.once('close', this.#connections.add({ socket, unread: new UnreadCheck(socket) }));
  }

  async start(): Promise<void> {
    this.#useCertificate();
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

  #useCertificate(): void {
    const server = this.#server;
    if (!(server instanceof TlsServer)) return;
    // Applies to new connections; those that are open stay.
    this.#unsubscribe = this.#options.certificate?.subscribe(({ cert, key, ca }) =>
      server.setSecureContext({ cert, key, ca, minVersion: minTlsVersion }),
    );
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /**
   * Makes every response close its connection, so clients move to other replicas. Keeps accepting requests and
   * connections. Keeps idle connections open, because closing one while its client sends a request would fail the
   * request.
   */
  drain(): void {
    this.#draining = true;
    for (const answer of this.#answers) if (!answer.headersSent) answer.setHeader('connection', 'close');
  }

  /** Stops listening, waits up to the drain time for requests in flight, then closes the remaining connections. */
  async stop(): Promise<void> {
    this.drain();
    if (!this.#server.listening) return;
    const { drainTimeoutMs, cut } = this.#options;
    const idleMs = Math.min(lingerMs, drainTimeoutMs);
    this.#server.keepAliveTimeout = idleMs;
    // The `close` of an HTTP server would close idle connections at once, on which requests may be in transit.
    const closed = new Promise<void>((resolve) =>
      TcpServer.prototype.close.call(this.#server, () => resolve()),
    );
    const timers = [
      setTimeout(() => this.#closeIdle(), idleMs),
      setTimeout(() => cut?.(), drainTimeoutMs),
      setTimeout(() => this.#closeAll(), drainTimeoutMs + (cut === undefined ? 0 : partingMs)),
    ];
    await closed;
    this.#unsubscribe?.();
    timers.forEach(clearTimeout);
    clearInterval(this.#sweep);
    // Ends the timer of the HTTP server.
    this.#server.close();
  }

  #cutUnread({ onCut }: UnreadResponses): void {
    for (const { socket, unread } of this.#connections) {
      if (!unread.sweep()) continue;
      onCut(socket.writableLength);
      socket.destroy();
    }
  }

  #closeAll(): void {
    for (const { socket } of this.#connections) socket.destroy(new DrainTimeout());
    for (const socket of this.#encrypted) socket.destroy();
  }

  /** Node counts a connection without any request so far as busy. */
  #closeIdle(): void {
    this.#server.closeIdleConnections();
    for (const { socket } of this.#connections) if (socket.bytesRead === 0) socket.destroy();
  }
}
