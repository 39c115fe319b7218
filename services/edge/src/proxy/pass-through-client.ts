import type { IncomingHttpHeaders } from 'node:http';
import { checkServiceName, type CertificateFiles } from '@gatehouse/kit/certificate-files';
import { buildConnector, Pool, type Dispatcher } from 'undici';
import type { AddressList } from '../replicas/address-list.ts';
import type { ProxiedResponse } from './answer-handlers.ts';
import type { Attempt, HttpClient } from './http-client.ts';
import { connectTimeoutMs, idleMs } from '../bounds.ts';

export interface PassThroughTimeouts {
  /** Until the answer begins. Chat ends provider calls itself and tries others: a chain with retries may take hours. */
  headersTimeoutMs: number;
  /** Between two pieces of an answer. Chat sends a comment every 15 s into a silent stream, so silence means a failure. */
  bodyTimeoutMs: number;
}

/** TLS with a service, whose certificate must have its name. */
export interface ServiceTls {
  service: string;
  certificate: CertificateFiles;
}

const defaultTimeouts: PassThroughTimeouts = { headersTimeoutMs: 12 * 3_600_000, bodyTimeoutMs: 60_000 };

/**
 * The sender for completions and imports: undici's dispatcher and node:http without layers between, half as much again as a general
 * proxy passes on one core (ADR 6). Streams both ways with back-pressure.
 */
export class PassThrough implements HttpClient {
  readonly streamsBodies = true;
  readonly #addresses: AddressList;
  readonly #timeouts: PassThroughTimeouts;
  readonly #tls: ServiceTls | undefined;
  readonly #pools = new Map<string, Pool>();
  /** Pools of vanished replicas, until their requests are over. */
  readonly #leaving = new Set<Pool>();

  constructor(
    addresses: AddressList,
    {
      timeouts = defaultTimeouts,
      tls,
    }: { timeouts?: PassThroughTimeouts; tls?: ServiceTls | undefined } = {},
  ) {
    this.#addresses = addresses;
    this.#timeouts = timeouts;
    this.#tls = tls;
  }

  send({ forwarded, address, headers, body }: Attempt, answer: ProxiedResponse): void {
    this.#pool(address).dispatch(
      {
        method: forwarded.request.method as Dispatcher.HttpMethod,
        path: forwarded.url,
        headers,
        // undici takes any async iterable, though its types name Node's streams only.
        body: body.bytes as Buffer | null,
      },
      new AnswerHandler(answer),
    );
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values(), ...this.#leaving].map((pool) => pool.destroy()));
  }

  #pool(address: string): Pool {
    const known = this.#pools.get(address);
    if (known !== undefined) return known;
    const pool = new Pool(`${this.#tls === undefined ? 'http' : 'https'}://${address}`, {
      headersTimeout: this.#timeouts.headersTimeoutMs,
      bodyTimeout: this.#timeouts.bodyTimeoutMs,
      keepAliveTimeout: idleMs,
      // Applies to any Keep-Alive header of the service.
      keepAliveMaxTimeout: idleMs,
      connect: this.#tls === undefined ? { timeout: connectTimeoutMs } : secureConnector(this.#tls),
    });
    this.#forgetVanished();
    this.#pools.set(address, pool);
    return pool;
  }

  /** Closes the pool of each replica no longer listed, once its requests are over. */
  #forgetVanished(): void {
    for (const [address, pool] of this.#pools) {
      if (this.#addresses.all.includes(address)) continue;
      this.#pools.delete(address);
      this.#leaving.add(pool);
      void pool.close().then(() => this.#leaving.delete(pool));
    }
  }
}

/** Connects with the latest certificate. An error is one of connecting: nothing was sent. */
function secureConnector({ service, certificate }: ServiceTls): buildConnector.connector {
  return (options, callback) => {
    const expired = certificate.expired();
    if (expired !== undefined) {
      callback(expired, null);
      return;
    }
    const connect = buildConnector({
      ...{ timeout: connectTimeoutMs, servername: service, allowH2: false },
      ...{ secureContext: certificate.current.context, checkServerIdentity: checkServiceName },
      // A resumed session would not show the certificate again, which may have been replaced.
      maxCachedSessions: 0,
    });
    connect(options, (...[error, socket]: buildConnector.CallbackArgs) => {
      if (error === null) callback(null, socket);
      else callback(Object.assign(error, { syscall: 'connect' }), null);
    });
  };
}

/** Reports what undici receives to an answer. */
class AnswerHandler implements Dispatcher.DispatchHandler {
  readonly #answer: ProxiedResponse;

  constructor(answer: ProxiedResponse) {
    this.#answer = answer;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#answer.start(controller);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    this.#answer.begin(status, headers);
    this.#answer.flush();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#answer.write(chunk);
  }

  onResponseEnd(): void {
    this.#answer.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#answer.fail(error);
  }
}
