import type { Readable } from 'node:stream';
import { pacedConnections } from '@gatehouse/egress/paced-reads';
import { monotonicMs, unlessAborted } from '@gatehouse/kit/clock';
import { toTraceparent } from '@gatehouse/kit/trace-context';
import type { AppError } from '@gatehouse/kit/errors';
import { Pool } from 'undici';
import type { Provider } from '../catalogue/provider-schema.ts';
import type { ProviderCall, ProviderStream } from './adapter.ts';
import { CredentialsError, type Credentials, type OutgoingRequest } from './credentials.ts';
import { completeBatch } from './embedding-batch.ts';
import { ProviderFailure } from './provider-failure.ts';
import type {
  FittedBody,
  FittedCall,
  ProviderKind,
  ResponseHeaders,
  UnaryResponse,
} from './provider-kind.ts';
import { secretsIn } from './repeated-secrets.ts';
import type { ResponseHandler } from './response-handler.ts';
import { StreamHandler } from './stream-handler.ts';
import { UnaryHandler } from './unary-handler.ts';
import { unpack } from './unpacking.ts';
import { Pieces } from '@gatehouse/dialects/wire/pieces';
import { connectMs, keepAliveMs, smallBodyBytes } from '../bounds.ts';

const nothing = new Pieces([]);
/** A larger part would be in memory once more while it is encrypted. */
const partBytes = 256 * 1024;

function ignore(): void {
  // Nothing is done.
}

async function* inParts(bytes: Pieces, onEnd: () => void): AsyncGenerator<Buffer> {
  try {
    for (const part of bytes.parts(partBytes)) yield await Promise.resolve(part);
  } finally {
    onEnd();
  }
}

export interface ResourceRequest {
  method: 'GET' | 'POST' | 'DELETE';
  /** Behind the base address, with the query. */
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: Buffer | Readable | null;
  /** In place of those of the provider. */
  credentials?: Credentials | undefined;
  signal: AbortSignal;
}

export interface ResourceAnswer {
  /** The secrets of the request's proof. */
  secrets: readonly string[];
  status: number;
  headers: ResponseHeaders;
  body: Readable;
}

/** Passes requests to a provider. Its answers stay byte for byte. Every rejection of a call is a `ProviderFailure`. */
export class HttpAdapter {
  readonly #name: string;
  readonly #kind: ProviderKind;
  readonly #origin: string;
  readonly #poolOptions: Pool.Options;
  #pool: Pool;
  /** The pool of the time before `retire`. */
  #retired: Pool | null = null;
  readonly #basePath: string;

  constructor(provider: Provider, kind: ProviderKind) {
    const url = new URL(provider.base_url);
    this.#name = provider.name;
    this.#kind = kind;
    this.#basePath = url.pathname === '/' ? '' : url.pathname;
    const { timeout_ms: headersTimeout, idle_timeout_ms: bodyTimeout } = provider;
    this.#origin = url.origin;
    this.#poolOptions = {
      ...{ headersTimeout, bodyTimeout, keepAliveTimeout: keepAliveMs },
      ...pacedConnections({ timeout: Math.min(connectMs, headersTimeout) }),
    };
    this.#pool = new Pool(this.#origin, this.#poolOptions);
  }

  /** The body of a call as the provider takes it; an error if it can't. Every body sent must be made so. */
  fitted(call: FittedCall, body: Pieces): FittedBody | AppError {
    return this.#kind.fit?.body(call, body) ?? { body, dropped: [] };
  }

  /** Whether bodies of an API lose hints and betas that the provider refuses. */
  fits({ api }: Pick<FittedCall, 'api'>): boolean {
    return this.#kind.fit?.hintsIn === api;
  }

  /** The whole answer: the bytes of a JSON document. */
  complete(call: ProviderCall): Promise<Buffer> {
    const batch = this.#kind.batchOf?.(call, call.body ?? nothing) ?? null;
    if (batch === null) return this.#complete(call);
    // Each part is a copy until it is sent, or shares the memory of the whole.
    call.copied?.(call.body?.length ?? 0);
    call.body = null;
    const completed = completeBatch(
      batch,
      { provider: this.#name, call: { ...call, copied: undefined } },
      async (part) => {
        const answered: Pick<UnaryResponse, 'headers'> = { headers: {} };
        try {
          return { bytes: await this.#complete(part, answered), ...answered };
        } finally {
          call.proof = part.proof;
        }
      },
    );
    return completed.finally(() => call.copied?.(0));
  }

  /** A streamed answer; resolves at its first frame, so until then another call can take its place. */
  async stream(call: ProviderCall): Promise<ProviderStream> {
    const handler = new StreamHandler({ name: this.#name, ...this.#kind.answersOf(call) }, call);
    this.#send(call, handler);
    try {
      return await handler.opened;
    } catch (error) {
      return await this.#seen(error, call);
    }
  }

  /** The status of a GET behind the base address; null without one in time. */
  async statusOf(path: string, headers: Record<string, string>): Promise<number | null> {
    const request = {
      method: 'GET',
      path: this.#basePath + path,
      headers: { ...headers, 'user-agent': 'gatehouse' },
    };
    try {
      const signal = AbortSignal.timeout(connectMs);
      const { statusCode, body } = await this.#pool.request({ ...request, signal } as const);
      // Nothing of the body is wanted.
      body.on('error', ignore).destroy();
      return statusCode;
    } catch {
      return null;
    }
  }

  /** Sends a request about a file or a batch. The caller reads the body of the answer, or destroys it. */
  async open(request: ResourceRequest): Promise<ResourceAnswer> {
    const {
      method,
      body = null,
      headers: extraHeaders = {},
      credentials = this.#kind.credentials,
      signal,
    } = request;
    const path = this.#basePath + request.path;
    const proof = await credentials.headersFor({ path, headers: extraHeaders, body: nothing });
    const headers = { 'user-agent': 'gatehouse', 'accept-encoding': 'identity', ...proof, ...extraHeaders };
    const sent = { method, path, headers, body, signal };
    const { statusCode: status, ...answer } = await this.#pool.compose(unpack).request(sent);
    return { secrets: secretsIn(proof), status, headers: answer.headers, body: answer.body };
  }

  /**
   * The provider has left the catalogue. Resolves when the calls under way are over and their connections are closed.
   * Runs begun before may still call; their connections close soon after, whatever the provider says.
   */
  async retire(): Promise<void> {
    const pool = this.#pool;
    this.#retired = pool;
    this.#pool = new Pool(this.#origin, { ...this.#poolOptions, keepAliveMaxTimeout: keepAliveMs });
    await pool.close();
  }

  async close(): Promise<void> {
    this.#kind.credentials.close?.();
    await Promise.all([this.#pool.destroy(), this.#retired?.destroy()]);
  }

  /** `answered` gets the headers of the answer. */
  async #complete(call: ProviderCall, answered?: Pick<UnaryResponse, 'headers'>): Promise<Buffer> {
    const answers = this.#kind.answersOf(call);
    const handler = new UnaryHandler({ name: this.#name, ...answers }, call);
    this.#send(call, handler);
    let answer: Buffer;
    try {
      answer = await handler.answer;
    } catch (error) {
      return await this.#seen(error, call);
    }
    if (answered !== undefined) answered.headers = handler.headers;
    try {
      return answers.whole?.(answer) ?? answer;
    } catch (cause) {
      throw new ProviderFailure('invalid', this.#name, { cause });
    }
  }

  /** Rethrows a failure, which says whether the same call may succeed with other credentials. */
  async #seen(error: unknown, call: ProviderCall): Promise<never> {
    if (!(error instanceof ProviderFailure)) throw error;
    const { kind, details } = error;
    const status = kind === 'status' ? (details.status ?? 0) : 0;
    const credentials = this.#credentialsOf(call);
    const { unset } = credentials;
    if (isRefusal(status) && unset !== undefined)
      throw new ProviderFailure(kind, this.#name, { ...details, unsetKey: unset });
    if (!isRefusal(status) || credentials.refused === undefined) throw error;
    const replaced = credentials.refused(status, call.sentAt ?? 0);
    const isStale = await unlessAborted(call.signal, replaced).catch(() => false);
    throw isStale ? new ProviderFailure(kind, this.#name, { ...details, isStale }) : error;
  }

  #credentialsOf({ credentials }: ProviderCall): Credentials {
    return credentials ?? this.#kind.credentials;
  }

  #send(call: ProviderCall, handler: ResponseHandler): void {
    const { path, ...outgoing } = this.#kind.requestOf(call, call.body ?? nothing);
    // A kind makes a copy if it wants another body than its API has.
    if (call.body !== outgoing.body) call.copied?.(outgoing.body.length);
    call.body = null;
    const request = { ...outgoing, path: this.#basePath + path };
    const fail = (cause: unknown): void => {
      const kind = cause instanceof CredentialsError ? 'credentials' : 'invalid';
      handler.stop(new ProviderFailure(kind, this.#name, { cause }));
    };
    try {
      const proof = this.#credentialsOf(call).headersFor(request);
      if (!(proof instanceof Promise)) {
        this.#dispatch(call, request, proof, handler);
        return;
      }
      const dispatch = (headers: Record<string, string>): void => {
        // If the client left meanwhile, the call has its failure.
        if (!call.signal.aborted) this.#dispatch(call, request, headers, handler);
      };
      proof.then(dispatch).catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  #dispatch(
    sent: ProviderCall,
    { path, headers: extraHeaders, body: bytes }: OutgoingRequest,
    proof: Record<string, string>,
    handler: ResponseHandler,
  ): void {
    sent.proof = proof;
    sent.sentAt = monotonicMs();
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      'user-agent': 'gatehouse',
      // Without it, any is accepted (RFC 9110, 12.5.3). Some servers compress anyway.
      'accept-encoding': 'identity',
      traceparent: toTraceparent(sent.trace),
      ...proof,
      ...extraHeaders,
    };
    // Smaller bodies may stay in memory; this costs less than an iterable.
    const isLarge = bytes.length > smallBodyBytes;
    if (isLarge) headers['content-length'] = String(bytes.length);
    // undici keeps a buffer until the response is over, and keeps nothing of an iterable once it is sent.
    // Its types name Node's streams only.
    const body = isLarge ? (inParts(bytes, () => handler.dropCopies()) as unknown as Readable) : bytes.whole;
    const call = { method: 'POST', path, headers, body } as const;
    this.#pool.dispatch(call, handler);
  }
}

/** Whether a provider may mean the credentials by a status. */
function isRefusal(status: number): boolean {
  return status === 401 || status === 403;
}
