import { AppError, type AppErrorOptions, type ErrorCode } from '@gatehouse/kit/errors';
import type { ProviderError } from '@gatehouse/dialects/dialect';
import type { Usage } from '@gatehouse/dialects/usage/usage';
import type { Blame } from './breaker.ts';
import { spentKey, wrongKey } from './key-status.ts';
import { isByTemplate } from './refused-history.ts';
import { withoutSecrets } from './repeated-secrets.ts';

type ErrorText = readonly [code: ErrorCode, text: string];

const unreachable: ErrorText = ['provider_unreachable', 'The provider {} could not be reached.'];

/**
 * How sure it is by an error that a provider lacks the deployment: `certain` by the provider's own code for it, so no
 * request can cause it; `likely` for others.
 */
export type Absence = 'certain' | 'likely';

/** Kinds of failures, except those by a status, with the errors for clients. */
const kinds = {
  /** The gateway has no credentials for the call. Nothing was sent. */
  credentials: ['provider_authentication', 'The gateway could not get credentials for the provider {}.'],
  /** The provider refuses the tenant's own key. */
  own_key: [
    'provider_key_failing',
    "The provider {} refuses the tenant's own key. Ask an admin of your tenant to replace it.",
  ],
  /** No connection was made: refused, unknown name, TLS error, connect time-out. Nothing was sent. */
  unreachable,
  /** The connection broke off before an answer. */
  connection: unreachable,
  /** No headers within `timeout_ms`, or silence of `idle_timeout_ms`. */
  timeout: ['provider_timeout', 'The provider {} did not answer in time.'],
  /** Status 200, and a body without an answer: broken JSON, wrong content type. */
  invalid: ['provider_invalid_response', 'The provider {} returned an answer that cannot be parsed.'],
  /** A whole answer came, which can't be written in the client's API. */
  untranslatable: [
    'provider_invalid_response',
    'The provider {} returned an answer that is too large or too odd for this API.',
  ],
  /** The stream ended before it was complete, or contained an error. */
  cut: ['provider_error', 'The provider {} ended its answer early.'],
  /** The gateway closed the connection because the client had left. */
  aborted: ['client_closed_request', 'The client left before the answer was complete.'],
  /** The gateway closed the connection because its process stops. */
  interrupted: ['service_unavailable', 'The gateway stopped before the answer was complete.'],
  /** The gateway closed the connection because a client has stopped the run. */
  stopped: ['run_stopped', 'The run was stopped.'],
  /** The gateway closed the connection because guardrails have ended the answer. */
  blocked: ['content_blocked', 'A guardrail ended the answer.'],
} satisfies Record<string, ErrorText>;

/** Why a provider call returned no answer. `status`: an HTTP status other than 200. */
export type FailureKind = keyof typeof kinds | 'status';

/** Kinds after which the same call may succeed if it is repeated. */
const retryable: ReadonlySet<FailureKind> = new Set(['unreachable', 'connection', 'timeout']);
/** Kinds after which no other model may answer. */
const final: ReadonlySet<FailureKind> = new Set([
  ...(['untranslatable', 'aborted', 'interrupted', 'stopped', 'blocked'] as const),
]);

/** Kinds of calls ended by the gateway. */
const gatewayKinds: ReadonlySet<FailureKind> = new Set(['aborted', 'interrupted', 'stopped', 'blocked']);

/** Anthropic's status, which others imitate. */
const overloaded = 529;
const refusesGateway: ErrorText = [
  'provider_authentication',
  "The provider {} refused the gateway's credentials.",
];
const overload: ErrorText = ['provider_overloaded', 'The provider {} is overloaded.'];
const limits: ErrorText = ['provider_rate_limited', 'The provider {} limits requests.'];

/** Statuses about the client's request, passed on to the client with the provider's words. */
const passedOn: Readonly<Record<number, ErrorText>> = {
  400: ['provider_bad_request', 'The provider {} refused the request.'],
  404: ['provider_not_found', 'The provider {} does not have this model.'],
  413: ['payload_too_large', 'The provider {} refused the request.'],
  422: ['provider_unprocessable', 'The provider {} refused the request.'],
};
/** Statuses about the gateway. The provider's words may name the platform's account. */
const ownStatuses: Readonly<Record<number, ErrorText>> = {
  [wrongKey]: refusesGateway,
  403: refusesGateway,
  [spentKey]: limits,
  429: limits,
  [overloaded]: overload,
};
/** Statuses of errors inside an answer after which clients wait and try again. */
const cutLimits: Readonly<Record<number, ErrorText>> = { 429: limits, [overloaded]: overload };

/** The reason of an abort signal when the client is there, but the process stops. */
export class Interruption extends AppError {
  constructor() {
    super('client_closed_request', 'the process stops');
    this.name = 'Interruption';
  }
}

/** A client has stopped the run, or refuses requests like it. Also the reason of an abort signal. */
export class RunStopped extends AppError {
  constructor(message: string = kinds.stopped[1]) {
    super('run_stopped', message, { headers: { 'x-should-retry': 'false' } });
    this.name = 'RunStopped';
  }
}

/** Guardrails have ended an answer under way. Also the reason of an abort signal. */
export class AnswerBlocked extends AppError {
  constructor() {
    super('content_blocked', kinds.blocked[1]);
    this.name = 'AnswerBlocked';
  }
}

export interface FailureDetails {
  status?: number;
  /** The provider's message, for the statuses passed on. */
  message?: string | undefined;
  code?: string | undefined;
  param?: string | undefined;
  /** The body of the response, to pass on as it is. */
  body?: Buffer | undefined;
  /** The status fit for an error inside an answer. */
  cutStatus?: number;
  /** Whether the status means overload of the provider. */
  isOverload?: boolean | undefined;
  retryAfterMs?: number | undefined;
  /** Whether the refused credentials have been replaced by others, for the next call. */
  isStale?: boolean;
  /** The variable of the gateway's key, where a call without a key was refused. */
  unsetKey?: string;
  /** Tokens charged by the provider before it failed, where it said so. */
  usage?: Usage;
  /** Whether nothing was sent: the call ended before it had a connection. */
  isUnsent?: boolean;
  /** Set where the error concerns the deployment, which its provider lacks. */
  absence?: Absence | undefined;
  /** Whether a template refuses the history, of which another model may have none. */
  isByTemplate?: boolean;
  /** Whether all keys for the call rest, so another call would have no key either. */
  isResting?: boolean;
  cause?: unknown;
}

/** The status of a template's refusal, whatever its server answers. */
export const templateRefusal = { status: 400, isByTemplate: true } as const;

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

  /** The failure of a call with an aborted signal. */
  static aborted(provider: string, { reason }: AbortSignal): ProviderFailure {
    if (reason instanceof RunStopped) return new ProviderFailure('stopped', provider);
    if (reason instanceof AnswerBlocked) return new ProviderFailure('blocked', provider);
    return new ProviderFailure(reason instanceof Interruption ? 'interrupted' : 'aborted', provider);
  }

  /** A failure as it is; any other error is the provider's, for its unreadable answer. */
  static from(error: unknown, provider: string): ProviderFailure {
    return error instanceof ProviderFailure
      ? error
      : new ProviderFailure('invalid', provider, { cause: error });
  }

  /**
   * The failure of an answer with status 200 and an error in it, as if the error were the status. An error of a field
   * concerns the request.
   */
  static inAnswer(provider: string, error: ProviderError): ProviderFailure {
    const { param = '', message, status } = error;
    if (isByTemplate(status ?? 500, message))
      return new ProviderFailure('status', provider, { ...error, ...templateRefusal });
    const isOfField = !/^(?:none|null|model)?$/i.test(param);
    return new ProviderFailure('status', provider, { ...error, status: status ?? (isOfField ? 400 : 502) });
  }

  /** The same failure of a call of which nothing was sent. */
  get asUnsent(): ProviderFailure {
    return new ProviderFailure(this.kind, this.provider, { ...this.details, isUnsent: true });
  }

  /** The failure of an answer broken off by its provider with this error. Without a status, it concerns its request. */
  static cut(
    provider: string,
    { status = 400, message, code, isOverload, retryAfterMs }: ProviderError,
  ): ProviderFailure {
    if (status in passedOn) return new ProviderFailure('cut', provider, { message, code });
    const cutStatus = isOverload === true ? overloaded : status;
    return new ProviderFailure('cut', provider, { cutStatus, retryAfterMs });
  }

  /** Without secrets of the call repeated by the provider: nothing for clients or operators to read may have them. */
  without(secrets: readonly string[]): ProviderFailure {
    return this.#with((text) => withoutSecrets(text, secrets));
  }

  /** With another name in place of one in use by the provider. */
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
    const status = this.#status;
    return retryable.has(this.kind) || [408, 409, 429].includes(status) || status >= 500;
  }

  /** Whether its provider lacks the deployment, so the request may fit another one. */
  get lacksDeployment(): boolean {
    return this.kind === 'status' && this.details.absence !== undefined;
  }

  /** Whether another model may answer. Not after an error caused by the client's request, nor after a whole answer. */
  get fallbackHelps(): boolean {
    if (final.has(this.kind)) return false;
    return this.lacksDeployment || this.details.isByTemplate === true || !(this.#status in passedOn);
  }

  /** The circuit it counts for; null if the deployment did not cause it (4xx, clients that left). */
  get blame(): Blame | null {
    if (this.kind === 'unreachable') return 'all';
    if (this.lacksDeployment) return this.details.absence === 'certain' ? 'missing' : 'tenant';
    const isBlameless = this.kind === 'status' ? this.#status < 500 : this.kind === 'own_key';
    return isBlameless || final.has(this.kind) ? null : 'tenant';
  }

  /** Whether the gateway ended the call: for its client, its process, a stop of the run, or a guardrail. */
  get isOfGateway(): boolean {
    return gatewayKinds.has(this.kind);
  }

  /** The error for the client. */
  toAppError(): AppError {
    const { details, kind } = this;
    if (kind === 'stopped') return new RunStopped();
    const { message, param, code: publicCode, body } = details;
    const written = ([code, text]: ErrorText, options?: AppErrorOptions, theirs?: string): AppError =>
      new AppError(code, theirs ?? text.replace('{}', this.provider), { ...options, cause: this });
    const limit = cutLimits[details.cutStatus ?? 0];
    if (limit !== undefined) return written(limit, { headers: retryAfterHeaders(details) });
    if (kind !== 'status') {
      const isTheirs = kind === 'cut' && message !== undefined;
      return isTheirs
        ? written(kinds.cut, { publicCode: shortCode(publicCode) }, message)
        : written(kinds[kind]);
    }
    const status = details.isOverload === true ? overloaded : this.#status;
    const passed = passedOn[status];
    if (passed !== undefined) return written(passed, { param, publicCode, body }, message);
    if (details.unsetKey !== undefined) return written(noKey(details.unsetKey));
    const own = ownStatuses[status] ?? (['provider_error', 'The provider {} failed.'] as const);
    return written(own, { headers: retryAfterHeaders(details) });
  }

  /** 0 for a failure of another kind. */
  get #status(): number {
    return this.kind === 'status' ? (this.details.status ?? 0) : 0;
  }
}

/** The error of a provider without a key, for the person who has just installed the gateway. */
function noKey(variable: string): ErrorText {
  const text = `The gateway has no key for the provider {}: its operator sets ${variable} and restarts it.`;
  return ['provider_authentication', text];
}

/** The code of an error in a stream; a long one is no word known to a client. */
function shortCode(code: string | undefined): string | undefined {
  return code !== undefined && code.length <= 64 ? code : undefined;
}

/** In whole seconds, and in milliseconds, which OpenAI's SDKs read first. */
function retryAfterHeaders({ retryAfterMs: ms }: FailureDetails): Record<string, string> {
  if (ms === undefined) return {};
  return { 'retry-after': String(Math.ceil(ms / 1_000)), 'retry-after-ms': String(Math.ceil(ms)) };
}

/**
 * The failure to report: the later one, or the one by which keys of either may be used sooner. A missing deployment is
 * reported where nothing else failed, since others may be back soon.
 */
export function sooner(last: ProviderFailure | null, next: ProviderFailure): ProviderFailure {
  if (last === null) return next;
  if (next.lacksDeployment) return last;
  const waits = ({ details }: ProviderFailure): number =>
    details.isResting === true ? (details.retryAfterMs ?? Infinity) : -1;
  return waits(next) > waits(last) && waits(last) >= 0 ? last : next;
}
