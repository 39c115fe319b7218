import type { Readable } from 'node:stream';
import { ChunkList } from '@gatehouse/kit/chunk-list';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { Provider } from '../catalogue/provider-schema.ts';
import type { AnswerFormat } from '@gatehouse/dialects/dialect';
import { concernsRequest } from '@gatehouse/dialects/provider-errors';
import { CredentialsError, type Credentials } from './credentials.ts';
import type { HttpAdapter, ResourceAnswer, ResourceRequest } from './http-adapter.ts';
import { keyStatus } from './key-status.ts';
import { ProviderFailure } from './provider-failure.ts';
import { bytesWithoutSecrets, streamWithoutSecrets } from './repeated-secrets.ts';
import { parseRetryAfter } from './retry-delay.ts';
import { objectBytes, smallAnswerBytes } from '../bounds.ts';

/** The key by which a provider has a file or a batch: later requests about it need the same one. */
export interface KeyName {
  /** Name of the provider in the catalogue. */
  provider: string;
  /** The name of the key in the provider's pool; null for its one key. */
  keyId: string | null;
  /** The tenant's own key; null for the platform's. */
  ownKeyId: string | null;
}

export type CredentialedRequest = Omit<ResourceRequest, 'credentials'>;

export interface AskedObject extends CredentialedRequest {
  /** Whether an object is what was asked for. */
  isAnswer: (object: Fields) => boolean;
}

interface ResourceOptions {
  provider: Provider;
  adapter: Pick<HttpAdapter, 'open'>;
  /** In place of those of the provider. */
  credentials: Credentials | undefined;
  format: Pick<AnswerFormat, 'parseError'>;
  /** Whether clients get the provider's own body of an error about their request. */
  keepsErrorBodies: boolean;
}

/**
 * Files and batches of a provider, as one of its keys sees them, which no answer repeats. Every rejection is a
 * `ProviderFailure`.
 */
export class ProviderResources {
  readonly #options: ResourceOptions;
  /** Name of the provider. */
  readonly #provider: string;

  constructor(options: ResourceOptions) {
    this.#options = options;
    this.#provider = options.provider.name;
  }

  /** The object in the provider's answer. Another one is a failure of the provider, whatever its status. */
  async json({ isAnswer, ...request }: AskedObject): Promise<Fields> {
    const { body, secrets } = await this.#send(request);
    const bytes = await this.#read(body, objectBytes);
    const answer = parsed(bytesWithoutSecrets(bytes, secrets));
    if (answer === null || !isAnswer(answer)) throw new ProviderFailure('invalid', this.#provider);
    return answer;
  }

  /** The bytes of the provider's answer. The caller reads them, or destroys the stream. */
  async stream(request: CredentialedRequest): Promise<Readable> {
    const { body, secrets } = await this.#send(request);
    return streamWithoutSecrets(body, secrets);
  }

  /** The failure behind a broken stream. */
  broken(cause: unknown): ProviderFailure {
    return cause instanceof ProviderFailure
      ? cause
      : new ProviderFailure('connection', this.#provider, { cause });
  }

  async #send(request: CredentialedRequest): Promise<ResourceAnswer> {
    const answer = await this.#options.adapter
      .open({ ...request, credentials: this.#options.credentials })
      .catch((cause: unknown) => {
        throw this.#failureOf(cause, request.signal);
      });
    if (answer.status >= 200 && answer.status < 300) return answer;
    const bytes = await this.#read(answer.body, smallAnswerBytes);
    const hasBody = (request.body ?? null) !== null;
    throw this.#refusal(answer, bytesWithoutSecrets(bytes, answer.secrets), hasBody);
  }

  async #read(body: Readable, most: number): Promise<Buffer> {
    const chunks = new ChunkList();
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        if (chunks.size > most) throw new ProviderFailure('invalid', this.#provider);
      }
    } catch (error) {
      throw this.broken(error);
    }
    return chunks.concat();
  }

  #refusal({ status, headers }: ResourceAnswer, bytes: Buffer, hasBody: boolean): ProviderFailure {
    const body = parsed(bytes);
    const words = this.#options.format.parseError(body ?? {}, status);
    const isKept = this.#options.keepsErrorBodies && body !== null && isFields(body['error']);
    const text = (name: string): string | undefined => {
      const value = headers[name];
      return typeof value === 'string' ? value : value?.[0];
    };
    // Others may name the account of the platform, or the id by which the provider knows something.
    const isForClient = hasBody && concernsRequest(status);
    return new ProviderFailure('status', this.#provider, {
      ...(isForClient && words),
      ...(isKept && isForClient && { body: bytes }),
      ...(status === 404 && { message: `The provider ${this.#provider} no longer has it.` }),
      status: keyStatus(status, body, headers),
      retryAfterMs: parseRetryAfter(text('retry-after'), text('retry-after-ms'), Date.now()),
    });
  }

  #failureOf(cause: unknown, signal: AbortSignal): ProviderFailure {
    const name = this.#provider;
    if (signal.aborted) return isTimeout(signal) ? late(name, signal) : ProviderFailure.aborted(name, signal);
    if (cause instanceof CredentialsError) return new ProviderFailure('credentials', name, { cause });
    const { code = '' } = Object(cause) as NodeJS.ErrnoException;
    if (timedOut.has(code)) return new ProviderFailure('timeout', name, { cause, code });
    return new ProviderFailure(unsent.has(code) ? 'unreachable' : 'connection', name, { cause, code });
  }
}

function isTimeout({ reason }: AbortSignal): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError';
}

function late(provider: string, { reason }: AbortSignal): ProviderFailure {
  return new ProviderFailure('timeout', provider, { cause: reason });
}

const timedOut: ReadonlySet<string> = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);
/** Codes of connections never made. */
const unsent: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
]);

function parsed(bytes: Buffer): Fields | null {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}
