import { Agent, buildConnector, type Dispatcher } from 'undici';
import { egressError, EgressError } from './errors.ts';
import type { Guard } from './guard.ts';

export interface EgressRequest {
  method: 'GET' | 'POST';
  url: URL;
  /** Names in lower case. */
  headers?: Readonly<Record<string, string>>;
  body?: Buffer;
  signal?: AbortSignal;
  /** Redirects that are followed; the answer after them may be one more. Default: 0. */
  maxRedirects?: number;
  /** Of the body of the answer. Default: 1 MiB. */
  maxBytes?: number;
  /** What to do with a longer body. Default: fail with `too_large`. */
  longer?: 'fail' | 'cut';
  /** For everything, redirects included. Default: 30 s. */
  timeoutMs?: number;
}

export interface EgressResponse {
  status: number;
  /** Names in lower case; several headers of one name are joined by commas. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

export interface EgressOptions {
  guard: Guard;
  /** Certificates to trust besides those that Node trusts. */
  ca?: string;
  /** Without a byte. Default: 15 s. */
  idleMs?: number;
}

const connectTimeoutMs = 10_000;
const defaultIdleMs = 15_000;
const defaultTimeoutMs = 30_000;
const defaultMaxBytes = 1024 * 1024;
const maxHeaderBytes = 16 * 1024;
/** Open connections to one host and port. */
const connections = 16;

/**
 * The one way out to addresses that tenants give. Each connection goes to an address that the guard has checked, by no
 * proxy, with a verified certificate; sizes and times are limited. All methods throw `EgressError`.
 */
export class Egress {
  readonly #guard: Guard;
  readonly #agent: Agent;

  constructor({ guard, ca, idleMs = defaultIdleMs }: EgressOptions) {
    this.#guard = guard;
    const connect = buildConnector({
      timeout: connectTimeoutMs,
      lookup: guard.lookup,
      rejectUnauthorized: true,
      ...(ca !== undefined && { ca }),
    });
    this.#agent = new Agent({
      connect,
      connections,
      allowH2: false,
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: idleMs,
      bodyTimeout: idleMs,
      // Shorter than servers keep idle connections, so that a request seldom meets one that is closing.
      keepAliveTimeout: 4_000,
    });
  }

  /** Sends a request and reads the whole answer, whatever its status. */
  async request(request: EgressRequest): Promise<EgressResponse> {
    const { signal, timeoutMs = defaultTimeoutMs } = request;
    const ends = AbortSignal.timeout(timeoutMs);
    const either = signal === undefined ? ends : AbortSignal.any([signal, ends]);
    try {
      return await this.#follow(request, either);
    } catch (error) {
      signal?.throwIfAborted();
      throw ends.aborted ? new EgressError('timeout', { cause: error }) : egressError(error);
    }
  }

  async stop(): Promise<void> {
    await this.#agent.destroy();
  }

  async #follow(request: EgressRequest, signal: AbortSignal): Promise<EgressResponse> {
    let next = request;
    for (let left = request.maxRedirects ?? 0; ; left -= 1) {
      const answer = await this.#send(next, signal);
      const location = isRedirect(answer.status) ? answer.headers['location'] : undefined;
      if (location === undefined || left === 0) return answer;
      next = redirected(next, answer.status, location);
    }
  }

  async #send(request: EgressRequest, signal: AbortSignal): Promise<EgressResponse> {
    const { method, url, headers = {}, body, maxBytes = defaultMaxBytes, longer = 'fail' } = request;
    // An address in a URL is connected without a lookup.
    this.#guard.assertUrl(url);
    const answer = await this.#agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      // No encoding: a small body could become a large one.
      headers: { 'user-agent': 'gatehouse', 'accept-encoding': 'identity', ...headers },
      ...(body !== undefined && { body }),
      signal,
    });
    const joined = Object.entries(answer.headers).map(([name, value]) => [name, [value].flat().join(', ')]);
    return {
      status: answer.statusCode,
      headers: Object.fromEntries(joined) as Record<string, string>,
      body: await readBody(answer.body, maxBytes, longer),
    };
  }
}

async function readBody(
  body: Dispatcher.ResponseData['body'],
  maxBytes: number,
  longer: 'fail' | 'cut',
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > maxBytes) break;
  }
  if (bytes > maxBytes && longer === 'fail') throw new EgressError('too_large');
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

/** Headers that another host may see. */
const harmless = new Set(['accept', 'accept-language', 'content-type', 'user-agent']);

/** The request after a redirect, as browsers make it; another host gets no credentials. */
function redirected(request: EgressRequest, status: number, location: string): EgressRequest {
  const { url: from, headers = {}, body, ...rest } = request;
  const url = URL.parse(location, from.href);
  if (url === null) throw new EgressError('invalid_response');
  const keeps = ([name]: [string, string]): boolean => url.origin === from.origin || harmless.has(name);
  const next = { ...rest, url, headers: Object.fromEntries(Object.entries(headers).filter(keeps)) };
  const repeats = status === 307 || status === 308 || request.method === 'GET';
  if (!repeats) return { ...next, method: 'GET' };
  return body === undefined ? next : { ...next, body };
}
