import { monotonicMs } from '@gatehouse/kit/clock';
import { toTokens } from '@gatehouse/dialects/usage/tokens';
import type { MeteredAnswer } from '@gatehouse/dialects/dialect';
import type { Blame, Breaker } from './breaker.ts';
import type { ProviderCall } from './adapter.ts';
import type { DeploymentCalls } from './call-metrics.ts';
import type { HttpAdapter } from './http-adapter.ts';
import type { KeyRotation } from './key-pool.ts';
import type { Pieces } from '@gatehouse/dialects/wire/pieces';
import type { Translation } from '@gatehouse/dialects/translation/translation';
import type { EndedCall } from './call-window.ts';
import type { CallScope } from './findings.ts';
import { ProviderFailure } from './provider-failure.ts';
import type { AppError } from '@gatehouse/kit/errors';
import type { TraceContext } from '@gatehouse/kit/trace-context';
import type { Model } from '../catalogue/catalogue.ts';
import type { AttemptStatus } from '../runs/run.ts';
import type { TextSample } from '@gatehouse/dialects/usage/token-estimate';
import type { Usage } from '@gatehouse/dialects/usage/usage';

/** How the provider call under way ended. */
export interface AttemptOutcome {
  status: AttemptStatus;
  httpStatus?: number | null;
  errorCode?: string | null;
  responseModel?: string | null;
  /** Usage as the provider reported it; null when it did not, and then the tokens are estimated from the texts. */
  usage: Usage | null;
  /** The tier of the call, where the provider named it. */
  serviceTier?: string | null;
  /** The text answered so far, for estimating. */
  answer?: TextSample | undefined;
  /** Tokens made by the deployment in the time of the call. Default: 0. */
  generated?: number;
}

/** Records each provider call before it is made and when it ends. */
export interface AttemptRecord {
  /** The id of the answer under way, for one without an id from its provider. */
  readonly answerId?: string;
  /** A model was passed over, since its API can't express the request. It counts once another one is called. */
  passOver(model: Model, refusal: AppError): void;
  /**
   * Commits a provider call, which may only be made afterwards, within the returned span. `maxTokens`: those of an answer,
   * where a budget has lowered their limit.
   */
  startAttempt(model: Model, request: { bodyBytes: number; maxTokens: number | null }): Promise<TraceContext>;
  /** The provider's success headers arrived. */
  noteAccepted(): void;
  /** The first piece of the answer arrived. */
  noteFirstToken(): void;
  /** Ends the call under way; a promise only if something must be waited for. */
  endAttempt(outcome: AttemptOutcome): void | Promise<void>;
  /** Ends the call under way with a failure. `answer`: as much as came of it, if it has begun. */
  failAttempt(
    failure: ProviderFailure,
    answer: Omit<MeteredAnswer, 'responseModel'> | null,
    generated: number,
  ): void | Promise<void>;
}

/** A call to be made, with the keys and the request for it. */
export interface Calling {
  adapter: HttpAdapter;
  operation: ProviderCall['operation'];
  /** The keys of the call; null where the provider has one key or no key. */
  rotation: KeyRotation | null;
  trace: TraceContext;
  /** The request; null once it was sent. */
  body: Pieces | null;
  /** Null where the provider speaks the client's API. */
  translation: Translation | null;
  /** The client's headers, with the betas that the model needs. */
  headers: ProviderCall['headers'];
  /** The last call made. */
  sent?: ProviderCall;
}

/** Tokens of one answer, for a deployment without a long answer yet: faster than nearly all. */
const unknownTokensPerMs = 1;

type CallHead = Pick<CallScope, 'operation' | 'tenantId'> & { choices: number };
type BegunAnswer = Omit<MeteredAnswer, 'responseModel'>;

interface OpenCallOptions {
  breaker: Breaker;
  calls: DeploymentCalls;
  record: AttemptRecord;
  /** The secrets sent with the call. */
  secrets: () => readonly string[];
  /** The source of the model's name: the catalogue, or a client that named it behind a pattern. */
  namedBy: 'catalogue' | 'client';
  hasOwnKey: boolean;
}

const nothing = { beginning: '', chars: 0 };

/** A provider call under way. Its outcome counts for its deployment and the deployment's breaker, and is recorded. */
export class OpenCall {
  readonly #call: CallHead;
  readonly #options: OpenCallOptions;
  readonly #startedAt = monotonicMs();
  #firstByteMs: number | null = null;

  constructor(call: CallHead, options: OpenCallOptions) {
    this.#call = call;
    this.#options = options;
  }

  /** The first good byte arrived. */
  answered(): void {
    this.#firstByteMs ??= monotonicMs() - this.#startedAt;
    this.#options.breaker.answered(this.#call);
    this.#options.record.noteFirstToken();
  }

  succeeded({ responseModel, usage, serviceTier, answer }: MeteredAnswer): void | Promise<void> {
    const generated = this.#generated;
    this.#options.breaker.succeeded(this.#call);
    this.#ended({ error: null, isCancelled: false, outputTokens: usage?.outputTokens ?? null });
    return this.#options.record.endAttempt({
      status: 'ok',
      httpStatus: 200,
      responseModel,
      usage,
      serviceTier,
      answer,
      generated,
    });
  }

  /** Returns the failure; rethrows any other error. `begun`: what came of the answer, if it has begun. */
  async failed(thrown: unknown, begun: BegunAnswer | null): Promise<ProviderFailure> {
    if (!(thrown instanceof ProviderFailure)) throw thrown;
    const error = thrown.without(this.#options.secrets());
    const blame = blameOf(error, this.#options);
    if (blame !== null) this.#options.breaker.failed(this.#call, blame);
    const { isOfGateway: isCancelled } = error;
    this.#ended({ error: isCancelled ? null : error.toAppError().code, isCancelled, outputTokens: null });
    const { usage } = error.details;
    const paid = usage === undefined ? null : { usage, serviceTier: null, answer: nothing };
    await this.#options.record.failAttempt(error, begun ?? paid, this.#generated);
    return error;
  }

  /** Tokens made by the deployment in the time of the call, for all of its answers. */
  get #generated(): number {
    const pace = this.#options.calls.tokensPerMs ?? unknownTokensPerMs;
    return toTokens(this.#call.choices * pace * (monotonicMs() - this.#startedAt));
  }

  #ended(end: Pick<EndedCall, 'error' | 'isCancelled' | 'outputTokens'>): void {
    const durationMs = monotonicMs() - this.#startedAt;
    this.#options.calls.ended({ ...end, durationMs, firstByteMs: this.#firstByteMs }, this.#call.choices);
  }
}

/** A client may have invented a name behind a pattern, and a tenant's own key may lack a model that others have. */
function blameOf(
  error: ProviderFailure,
  { namedBy, hasOwnKey }: Pick<OpenCallOptions, 'namedBy' | 'hasOwnKey'>,
): Blame | null {
  if (!error.lacksDeployment) return error.blame;
  if (namedBy === 'client') return null;
  return hasOwnKey ? 'tenant' : error.blame;
}
