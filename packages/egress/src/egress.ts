import { getCACertificates } from 'node:tls';
import { unlessAborted } from '@gatehouse/kit/clock';
import { Agent, type Dispatcher } from 'undici';
import { CallShares, type MaxCalls } from './call-shares.ts';
import { egressError, EgressError } from './errors.ts';
import type { Guard } from './guard.ts';
import { pacedConnections } from './paced-reads.ts';
import { workDeadlineMs } from '@gatehouse/kit/bounds';
import {
  discardMs,
  discardedBytes,
  quietMs,
  keepAliveMs,
  maxBodyBytes,
  maxHeaderBytes,
  maxHints,
  patienceMs,
  requestMs,
} from './bounds.ts';

export interface EgressRequest {
  /** The tenant with the share of calls it takes from; null for the platform. */
  tenantId: string | null;
  method: 'GET' | 'POST' | 'DELETE';
  url: URL;
  /** Names in lower case. */
  headers?: Readonly<Record<string, string>>;
  body?: Buffer;
  signal?: AbortSignal;
  /** Followed redirects; the response may be one more. Default: 0. */
  maxRedirects?: number;
  /** The most bytes of the response's body; a longer one fails with `too_large`. Default: 1 MiB. */
  maxBytes?: number;
  /**
   * For responses with all information in the headers: the body is not returned, and may be endless. Default: false.
   */
  ignoreBody?: boolean;
  /** For everything, redirects included. Default: 30 s. */
  timeoutMs?: number;
  /** Without a byte, before the headers and between the parts of the body. Default: as for all requests. */
  idleMs?: number;
}

export interface EgressResponse {
  status: number;
  /** Names in lower case; several headers of one name are joined by commas. */
  headers: Readonly<Record<string, string>>;
  /** The headers `Set-Cookie`, one by one. */
  setCookies: readonly string[];
  body: Buffer;
}

/** A response with a body still arriving. */
export interface EgressStream extends Omit<EgressResponse, 'body'> {
  /**
   * Fails with `EgressError` where a whole response would. Read it to its end, or cancel it: until then it counts as a
   * call under way.
   */
  body: ReadableStream<Uint8Array>;
}

export interface EgressOptions {
  guard: Guard;
  /** A certificate to trust besides Node's own. */
  ca?: string;
  /** Without a byte. Default: 15 s. */
  idleMs?: number;
  /** Calls under way. More wait for their turn, and fail with `busy` after two seconds. */
  maxCalls?: MaxCalls;
}

/** Each call has a connection, so calls never wait for one another. */
const defaultMaxCalls: MaxCalls = { all: 1_024, tenant: 128, origin: 64, tenantAtOrigin: 48 };

/** Headers of the connection itself, or naming another host than the checked one. */
const notGiven =
  /^(?:host|connection|content-length|transfer-encoding|keep-alive|upgrade|te|trailer|expect|proxy-.*|sec-.*)$/i;

/**
 * The one way out to addresses given by tenants. Each connection goes to an address checked by the guard, by no proxy,
 * with a verified certificate; sizes, times and the number of calls are limited.
 */
export class Egress {
  readonly #guard: Guard;
  readonly #agent: Agent;
  readonly #shares: CallShares;
  readonly maxCalls: MaxCalls;

  constructor({ guard, ca, idleMs = quietMs, maxCalls = defaultMaxCalls }: EgressOptions) {
    this.#guard = guard;
    this.maxCalls = maxCalls;
    this.#shares = new CallShares(maxCalls);
    this.#agent = new Agent({
      ...pacedConnections({
        timeout: workDeadlineMs,
        lookup: guard.lookup,
        autoSelectFamilyAttemptTimeout: patienceMs,
        rejectUnauthorized: true,
        ...(ca !== undefined && { ca: [...getCACertificates('default'), ca] }),
      }),
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: idleMs,
      bodyTimeout: idleMs,
      keepAliveTimeout: keepAliveMs,
      // Otherwise the server decides.
      keepAliveMaxTimeout: keepAliveMs,
    });
  }

  /**
   * Sends a request and reads the whole response, whatever its status. Throws `EgressError`, or the reason of `signal`.
   */
  async request(request: EgressRequest): Promise<EgressResponse> {
    const limit = new TimeLimit(request);
    try {
      // undici hears the signal only when it has a connection.
      return await unlessAborted(limit.signal, this.#follow(request, limit.signal));
    } catch (error) {
      throw limit.explained(error);
    }
  }

  /**
   * Sends a request and returns once the headers of its response are there. `timeoutMs` is for all of it, the body
   * included. Throws as {@link request} does.
   */
  async open(request: EgressRequest): Promise<EgressStream> {
    const limit = new TimeLimit(request);
    try {
      const end = await this.#hold(request, limit.signal);
      try {
        const response = await unlessAborted(limit.signal, this.#send(request, limit.signal));
        return { ...response, body: streamed(response.body, { limit, request, end }) };
      } catch (error) {
        end();
        throw error;
      }
    } catch (error) {
      throw limit.explained(error);
    }
  }

  /** Calls under way, and calls waiting for their turn. */
  get calls(): { running: number; waiting: number } {
    return this.#shares;
  }

  async stop(): Promise<void> {
    await this.#agent.destroy();
  }

  async #follow(request: EgressRequest, signal: AbortSignal): Promise<EgressResponse> {
    let next = request;
    for (let left = request.maxRedirects ?? 0; ; left -= 1) {
      signal.throwIfAborted();
      const end = await this.#hold(next, signal);
      const response = await this.#read(next, signal).finally(end);
      const location = isRedirect(response.status) ? response.headers['location'] : undefined;
      if (location === undefined || left === 0) return response;
      next = redirected(next, response.status, location);
    }
  }

  #hold({ tenantId, url }: EgressRequest, signal: AbortSignal): Promise<() => void> {
    return this.#shares.hold(tenantId, url.origin, signal);
  }

  async #read(request: EgressRequest, signal: AbortSignal): Promise<EgressResponse> {
    const { maxBytes = maxBodyBytes, ignoreBody = false } = request;
    const { body, ...head } = await this.#send(request, signal);
    return { ...head, body: ignoreBody ? await discard(body) : await readBody(body, maxBytes) };
  }

  async #send(request: EgressRequest, signal: AbortSignal): Promise<RawResponse> {
    const { method, url, headers = {}, body, idleMs } = request;
    // An address in a URL is connected without a lookup.
    this.#guard.assertUrl(url);
    if (Object.keys(headers).some((name) => notGiven.test(name))) throw new EgressError('invalid_request');
    let hints = 0;
    const response = await this.#agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      // No encoding: a small body could become a large one.
      headers: { 'user-agent': 'gatehouse', ...headers, 'accept-encoding': 'identity' },
      ...(body !== undefined && { body }),
      ...(idleMs !== undefined && { headersTimeout: idleMs, bodyTimeout: idleMs }),
      onInfo: () => {
        hints += 1;
        if (hints > maxHints) throw new EgressError('invalid_response');
      },
      signal,
    });
    const joined = Object.entries(response.headers).map(([name, value]) => [name, [value].flat().join(', ')]);
    return {
      status: response.statusCode,
      headers: Object.fromEntries(joined) as Record<string, string>,
      setCookies: [response.headers['set-cookie'] ?? []].flat(),
      body: response.body,
    };
  }
}

type RawBody = Dispatcher.ResponseData['body'];
type RawResponse = Omit<EgressResponse, 'body'> & { body: RawBody };

/** The time limit of a request, and the signal of its caller. */
class TimeLimit {
  readonly signal: AbortSignal;
  readonly #caller: AbortSignal | undefined;
  readonly #ends: AbortSignal;

  constructor({ signal, timeoutMs = requestMs }: Pick<EgressRequest, 'signal' | 'timeoutMs'>) {
    this.#caller = signal;
    this.#ends = AbortSignal.timeout(timeoutMs);
    this.signal = signal === undefined ? this.#ends : AbortSignal.any([signal, this.#ends]);
  }

  /** The caller's error in place of `error`. */
  explained(error: unknown): unknown {
    if (this.#caller?.aborted === true) return this.#caller.reason;
    if (this.#ends.aborted) return new EgressError('timeout', { cause: error });
    const known = egressError(error);
    // Other faults of a connection.
    return known instanceof EgressError ? known : new EgressError('unreachable', { cause: error });
  }
}

/** The body as it arrives, up to the size and the time of the request; `end` is called once, when it is over. */
function streamed(
  body: RawBody,
  { limit, request, end }: { limit: TimeLimit; request: EgressRequest; end: () => void },
): ReadableStream<Uint8Array> {
  const { maxBytes = maxBodyBytes } = request;
  // The signal of a request is no longer heard once undici has returned its headers.
  const abort = (): void => void body.destroy(limit.explained(limit.signal.reason) as Error);
  limit.signal.addEventListener('abort', abort, { once: true });
  body.once('close', () => {
    limit.signal.removeEventListener('abort', abort);
    end();
  });
  let bytes = 0;
  const chunks = body.iterator() as AsyncIterableIterator<Buffer, undefined>;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const next = await chunks.next();
        if (next.done === true) {
          controller.close();
          return;
        }
        bytes += next.value.length;
        if (bytes > maxBytes) throw new EgressError('too_large');
        controller.enqueue(next.value);
      } catch (error) {
        body.destroy();
        controller.error(limit.explained(error));
      }
    },
    cancel() {
      body.destroy();
    },
  });
}

/** Reads a short body, to use the connection again; any other costs the connection. */
async function discard(body: RawBody): Promise<Buffer> {
  body.on('error', () => undefined);
  await body
    .dump({ limit: discardedBytes, signal: AbortSignal.timeout(discardMs) })
    .catch(() => body.destroy());
  return Buffer.alloc(0);
}

async function readBody(body: RawBody, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > maxBytes) break;
  }
  if (bytes > maxBytes) throw new EgressError('too_large');
  return Buffer.concat(chunks);
}

export function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

/** Headers fit for another host. */
const harmless = new Set(['accept', 'accept-language', 'content-type', 'user-agent']);

/** The request after a redirect. Another host gets no credentials. */
function redirected(request: EgressRequest, status: number, location: string): EgressRequest {
  const { url: from, headers = {}, body, ...rest } = request;
  const repeats = status === 307 || status === 308 || request.method === 'GET';
  const url = URL.parse(location, from.href);
  if (url === null) throw new EgressError('invalid_response');
  const keeps = ([name]: [string, string]): boolean =>
    (url.origin === from.origin || harmless.has(name)) && (repeats || !name.startsWith('content-'));
  const next = { ...rest, url, headers: Object.fromEntries(Object.entries(headers).filter(keeps)) };
  if (!repeats) return { ...next, method: 'GET' };
  return body === undefined ? next : { ...next, body };
}
