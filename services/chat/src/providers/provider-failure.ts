import { AppError } from '@gatehouse/kit/errors';
import type { ProviderError } from '@gatehouse/dialects/dialect';
import type { Usage } from '@gatehouse/dialects/usage/usage';
import type { Blame } from './breaker.ts';
import { spentKey, wrongKey } from './key-status.ts';
import { withoutSecrets } from './repeated-secrets.ts';

/** Why a provider call returned no answer. */
export type FailureKind =
  /** The gateway has no credentials for the call. Nothing was sent. */
  | 'credentials'
  /** The provider refuses the tenant's own key. */
  | 'own_key'
  /** No connection was made: refused, unknown name, TLS error, connect time-out. Nothing was sent. */
  | 'unreachable'
  /** The connection broke off before an answer. */
  | 'connection'
  /** No headers within `timeout_ms`, or silence of `idle_timeout_ms`. */
  | 'timeout'
  /** An HTTP status other than 200. */
  | 'status'
  /** Status 200, and a body that is no answer: broken JSON, wrong content type. */
  | 'invalid'
  /** A whole answer came, which can't be written in the client's API. */
  | 'untranslatable'
  /** The stream ended before it was complete, or contained an error. */
  | 'cut'
  /** The gateway closed the connection because the client had left. */
  | 'aborted'
  /** The gateway closed the connection because its process stops. */
  | 'interrupted';

/** The reason of an abort signal when the client is there, but the process stops. */
export class Interruption extends Error {
  constructor() {
    super('the process stops');
    this.name = 'Interruption';
  }
}

export interface FailureDetails {
  status?: number;
  /** The provider's message, for the statuses that are passed on. */
  message?: string | undefined;
  code?: string | undefined;
  param?: string | undefined;
  /** The body of the response, for clients that get it as it is. */
  body?: Buffer | undefined;
  /** Whether the status says that the provider is overloaded. */
  isOverload?: boolean | undefined;
  retryAfterMs?: number | undefined;
  /** Whether the provider refused credentials in whose place are others, which the next call gets. */
  isStale?: boolean;
  /** Tokens that the provider has charged for before it failed, where it said so. */
  usage?: Usage;
  /** Whether nothing was sent: the call ended before it had a connection. */
  isUnsent?: boolean;
  /** Whether all keys for the call rest, so that another call would have none either. */
  isResting?: boolean;
  cause?: unknown;
}

export class ProviderFailure extends Error {
  readonly kind: FailureKind;
  readonly provider: string;
  readonly #details: FailureDetails;

  constructor(kind: FailureKind, provider: string, details: FailureDetails = {}) {
    super(`provider ${provider}: ${kind}${details.status === undefined ? '' : ` ${details.status}`}`, {
      cause: details.cause,
    });
    this.name = 'ProviderFailure';
    this.kind = kind;
    this.provider = provider;
    this.#details = details;
  }

  /** Not a property of its own: logs have those, and a provider's words may repeat a prompt. */
  get details(): FailureDetails {
    return this.#details;
  }

  /** The failure of a call whose signal is aborted. */
  static aborted(provider: string, { reason }: AbortSignal): ProviderFailure {
    return new ProviderFailure(reason instanceof Interruption ? 'interrupted' : 'aborted', provider);
  }

  /** The same failure of a call of which nothing was sent. */
  get asUnsent(): ProviderFailure {
    return new ProviderFailure(this.kind, this.provider, { ...this.details, isUnsent: true });
  }

  /** The failure of an answer that its provider broke off with this error. */
  static cut(provider: string, { status = badRequest, message, code }: ProviderError): ProviderFailure {
    return new ProviderFailure('cut', provider, passedOn(status) ? { message, code } : {});
  }

  /** Without secrets of the call that the provider repeats: nothing that clients or operators read may have them. */
  without(secrets: readonly string[]): ProviderFailure {
    return this.#with((text) => withoutSecrets(text, secrets));
  }

  /** With another name in place of one that the provider knows something by. */
  renamed(name: string, other: string): ProviderFailure {
    return this.#with((text) => text.replaceAll(name, other));
  }

  #with(change: (text: string) => string): ProviderFailure {
    const { message, code, param, body } = this.details;
    const texts = [message, code, param, body?.toString('utf8')];
    const changed = texts.map((text) => (text === undefined ? undefined : change(text)));
    if (texts.every((text, index) => text === changed[index])) return this;
    const [newMessage, newCode, newParam, newBody] = changed;
    return new ProviderFailure(this.kind, this.provider, {
      ...this.details,
      ...{ message: newMessage, code: newCode, param: newParam },
      body: newBody === undefined ? undefined : Buffer.from(newBody),
    });
  }

  /** Whether the same call may succeed if it is repeated. */
  get retryable(): boolean {
    if (this.details.isResting === true) return false;
    if (this.kind === 'status') return retryableStatus(this.details.status ?? 0);
    return this.kind === 'unreachable' || this.kind === 'connection' || this.kind === 'timeout';
  }

  /** Whether another model may answer. Not after an error that the client's request caused, nor after a whole answer. */
  get fallbackHelps(): boolean {
    if (this.kind === 'aborted' || this.kind === 'interrupted' || this.kind === 'untranslatable')
      return false;
    return !(this.kind === 'status' && passedOn(this.details.status ?? 0));
  }

  /** The circuit that it counts for; null if the deployment's health did not cause it (4xx, clients that left). */
  get blame(): Blame | null {
    switch (this.kind) {
      case 'unreachable':
        return 'all';
      // A call that was refused has credentials renewed, which may fail.
      case 'credentials':
      case 'connection':
      case 'timeout':
      case 'invalid':
      case 'cut':
        return 'tenant';
      case 'status':
        return (this.details.status ?? 0) >= 500 ? 'tenant' : null;
      case 'own_key':
      case 'untranslatable':
      case 'aborted':
      case 'interrupted':
        return null;
    }
  }

  /** The error that the client gets. `keepsBody`: whether it gets the body of the provider's. */
  toAppError({ keepsBody = true } = {}): AppError {
    const { provider, details, kind } = this;
    const { param, code: publicCode } = details;
    const fields = { cause: this, param, publicCode, body: keepsBody ? details.body : undefined };
    switch (kind) {
      case 'credentials':
        return new AppError(
          'provider_authentication',
          `The gateway could not get credentials for the provider ${provider}.`,
          { cause: this },
        );
      case 'own_key':
        return new AppError(
          'provider_key_failing',
          `The provider ${provider} refuses the tenant's own key. Ask an admin of your tenant to replace it.`,
          { cause: this },
        );
      case 'unreachable':
      case 'connection':
        return new AppError('provider_unreachable', `The provider ${provider} could not be reached.`, {
          cause: this,
        });
      case 'timeout':
        return new AppError('provider_timeout', `The provider ${provider} did not answer in time.`, {
          cause: this,
        });
      case 'invalid':
        return new AppError(
          'provider_invalid_response',
          `The provider ${provider} returned an answer that cannot be parsed.`,
          { cause: this },
        );
      case 'untranslatable':
        return new AppError(
          'provider_invalid_response',
          `The provider ${provider} returned an answer that is too large or too odd for this API.`,
          { cause: this },
        );
      case 'cut':
        return new AppError(
          'provider_error',
          details.message ?? `The provider ${provider} ended its answer early.`,
          // The code of a connection that broke is our own, and a long one is no word that a client knows.
          { cause: this, publicCode: details.message === undefined ? undefined : shortCode(publicCode) },
        );
      case 'aborted':
        return new AppError('client_closed_request', 'The client left before the answer was complete.', {
          cause: this,
        });
      case 'interrupted':
        return new AppError('service_unavailable', 'The gateway stopped before the answer was complete.', {
          cause: this,
        });
      case 'status':
        return statusError(this.details, provider, fields);
    }
  }
}

/** Anthropic's status, which others imitate. */
const overloaded = 529;
/** An error in an answer that names no status concerns its request. */
const badRequest = 400;

function statusError(
  details: FailureDetails,
  provider: string,
  fields: {
    cause: unknown;
    param: string | undefined;
    publicCode: string | undefined;
    body: Buffer | undefined;
  },
): AppError {
  const message = details.message ?? `The provider ${provider} refused the request.`;
  switch (details.isOverload === true ? overloaded : details.status) {
    case 400:
      return new AppError('provider_bad_request', message, fields);
    case 404:
      return new AppError(
        'provider_not_found',
        details.message ?? `The provider ${provider} does not have this model.`,
        fields,
      );
    case 422:
      return new AppError('provider_unprocessable', message, fields);
    case 413:
      return new AppError('payload_too_large', message, fields);
    case wrongKey:
    case 403:
      return new AppError(
        'provider_authentication',
        `The provider ${provider} refused the gateway's credentials.`,
        {
          cause: fields.cause,
        },
      );
    case spentKey:
    case 429:
      // Its own words may name the platform's account.
      return new AppError('provider_rate_limited', `The provider ${provider} limits requests.`, {
        cause: fields.cause,
        headers: retryAfterHeaders(details),
      });
    case overloaded:
      return new AppError('provider_overloaded', `The provider ${provider} is overloaded.`, {
        cause: fields.cause,
        headers: retryAfterHeaders(details),
      });
    default:
      return new AppError('provider_error', `The provider ${provider} failed.`, {
        cause: fields.cause,
        headers: retryAfterHeaders(details),
      });
  }
}

function shortCode(code: string | undefined): string | undefined {
  return code !== undefined && code.length <= maxCodeChars ? code : undefined;
}

/** Longer than any code that clients know. */
const maxCodeChars = 64;

function retryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** Statuses that concern the client's request, and are passed on to the client. */
function passedOn(status: number): boolean {
  return status === 400 || status === 404 || status === 413 || status === 422;
}

/** In whole seconds, and in milliseconds, which OpenAI's SDKs read first. */
function retryAfterHeaders({ retryAfterMs: ms }: FailureDetails): Record<string, string> {
  if (ms === undefined) return {};
  return { 'retry-after': String(Math.ceil(ms / 1_000)), 'retry-after-ms': String(Math.ceil(ms)) };
}
