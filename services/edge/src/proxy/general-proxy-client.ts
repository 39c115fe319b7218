import { connectTimeoutMs, idleMs, defaultSilenceMs } from '../bounds.ts';
import { ServerResponse, type IncomingMessage, Agent, type ClientRequestArgs } from 'node:http';
import { Agent as SecureAgent, type RequestOptions } from 'node:https';
import { Readable, type Duplex } from 'node:stream';
import { checkServiceName, type CertificateFiles } from '@gatehouse/kit/certificate-files';
import { createProxyMiddleware, type RequestHandler } from 'http-proxy-middleware';
import type { ProxiedResponse, AnswerSource } from './answer-handlers.ts';
import { headerObject } from './headers.ts';
import type { RequestBody } from './request-body-handlers.ts';
import type { Attempt, HttpClient } from './http-client.ts';

/** The sender for all routes but completions: http-proxy-middleware over a pool of kept connections. */
export class GeneralProxy implements HttpClient {
  readonly streamsBodies = false;
  readonly #silenceMs: number;
  readonly #agent: Agent;
  readonly #middleware: RequestHandler;

  /**
   * `silenceMs`: how long a service may send nothing, before and during its answer. `certificate`: for TLS with
   * services.
   */
  constructor({
    silenceMs = defaultSilenceMs,
    certificate,
  }: { silenceMs?: number; certificate?: CertificateFiles | undefined } = {}) {
    this.#silenceMs = silenceMs;
    this.#agent = certificate === undefined ? new ConnectionPool() : new SecureConnectionPool(certificate);
    this.#middleware = createProxyMiddleware({
      agent: this.#agent,
      proxyTimeout: silenceMs,
      selfHandleResponse: true,
      router: (_request, response, options) => {
        const { address, body, forwarded } = exchangeOf(response).attempt;
        if (body.bytes !== null) options.buffer = sourceOf(body);
        if (certificate === undefined) return `http://${address}`;
        options.ssl = { servername: forwarded.route.service };
        return `https://${address}`;
      },
      on: {
        proxyReq: (outgoing, _request, response) => {
          outgoing.once('finish', () => exchangeOf(response).attempt.body.free());
        },
        proxyRes: (incoming, _request, response) => exchangeOf(response).receive(incoming),
        error: (error, _request, response) => exchangeOf(response).answer.fail(error),
      },
    });
  }

  send(attempt: Attempt, answer: ProxiedResponse): void {
    const { request, url } = attempt.forwarded;
    const { bytes } = attempt.body;
    const length = Buffer.isBuffer(bytes) ? { 'content-length': String(bytes.length) } : {};
    request.url = url;
    request.headers = { ...headerObject(attempt.headers), ...length };
    const exchange = new ProxyResponse(attempt, answer, this.#silenceMs);
    answer.start(exchange);
    void this.#middleware(request, exchange, (error) => answer.fail(error));
  }

  close(): Promise<void> {
    this.#agent.destroy();
    return Promise.resolve();
  }
}

/**
 * One attempt, as the response the library gets. It belongs to no connection: the library destroys its response when
 * the service fails, and `ProxiedResponse` decides what the client gets. A `WeakMap` from responses to attempts would
 * keep each of them until the whole heap is collected, because attempts refer to their responses.
 */
class ProxyResponse extends ServerResponse implements AnswerSource {
  readonly attempt: Attempt;
  readonly answer: ProxiedResponse;
  readonly #silenceMs: number;
  #incoming: IncomingMessage | null = null;

  constructor(attempt: Attempt, answer: ProxiedResponse, silenceMs: number) {
    super(attempt.forwarded.request);
    this.attempt = attempt;
    this.answer = answer;
    this.#silenceMs = silenceMs;
  }

  receive(incoming: IncomingMessage): void {
    this.#incoming = incoming;
    incoming
      .on('data', (chunk: Buffer) => this.answer.write(chunk))
      .on('end', () => this.answer.end())
      .on('error', (error) => this.answer.fail(error));
    this.answer.begin(incoming.statusCode ?? 0, incoming.headers);
    this.answer.flush();
  }

  /** Meanwhile the service's silence doesn't count. */
  pause(): void {
    this.#incoming?.pause();
    this.#incoming?.socket.setTimeout(0);
  }

  resume(): void {
    // After its end the connection may carry another request.
    if (this.#incoming === null || this.#incoming.readableEnded) return;
    this.#incoming.resume();
    this.#incoming.socket.setTimeout(this.#silenceMs);
  }

  /** Ends the request to the service: the library does so when its response closes. */
  abort(): void {
    this.emit('close');
  }
}

/** Refers to the body alone: what refers to its bytes would keep them until the answer ends. */
function sourceOf(body: RequestBody): Readable {
  return new Readable({
    read() {
      this.push(body.bytes);
      this.push(null);
    },
  });
}

function exchangeOf(response: unknown): ProxyResponse {
  if (response instanceof ProxyResponse) return response;
  throw new Error('a response that send() did not make');
}

/** Node's pool of kept connections with a connect timeout, which Node's own lacks. */
class ConnectionPool extends Agent {
  constructor() {
    super({ keepAlive: true, timeout: idleMs });
  }

  override createConnection(
    options: ClientRequestArgs,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | null | undefined {
    const connection = super.createConnection(options, callback);
    return limited(connection, 'connect');
  }
}

/** The same over TLS. Each service must have the name that its requests give as `servername`. */
class SecureConnectionPool extends SecureAgent {
  readonly #certificate: CertificateFiles;

  constructor(certificate: CertificateFiles) {
    // A resumed session would not show the certificate again, which may have been replaced.
    super({ keepAlive: true, timeout: idleMs, maxCachedSessions: 0 });
    this.#certificate = certificate;
  }

  override createConnection(
    options: RequestOptions,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | null | undefined {
    const certificate = this.#certificate;
    const expired = certificate.expired();
    if (expired !== undefined) {
      // Node's types want a stream beside an error too.
      callback?.(expired, undefined as never);
      return undefined;
    }
    const { context: secureContext } = certificate.current;
    const secured = { ...options, secureContext, checkServerIdentity: checkServiceName };
    const connection = super.createConnection(secured, callback);
    return limited(connection, 'secureConnect');
  }
}

/** A connection that fails unless it is made in time. An error before is one of connecting: nothing was sent. */
function limited(connection: Duplex | null | undefined, made: 'connect' | 'secureConnect') {
  if (connection === null || connection === undefined) return connection;
  const timer = setTimeout(() => {
    const error = new Error(`no connection within ${connectTimeoutMs} ms`);
    connection.destroy(Object.assign(error, { code: 'ETIMEDOUT' }));
  }, connectTimeoutMs);
  const name = (error: Error): void => void Object.assign(error, { syscall: 'connect' });
  connection.prependOnceListener('error', name);
  for (const event of [made, 'close'])
    connection.once(event, () => {
      clearTimeout(timer);
      connection.off('error', name);
    });
  return connection;
}
