import type { AppError } from '@gatehouse/kit/errors';
import type { TraceContext } from '@gatehouse/kit/trace-context';
import type { Model } from '../catalogue/catalogue.ts';
import type { MeteredAnswer } from '@gatehouse/dialects/dialect';
import type { AttemptStatus } from '../runs/run.ts';
import type { TextSample } from '@gatehouse/dialects/usage/token-estimate';
import type { Usage } from '@gatehouse/dialects/usage/usage';
import type { ProviderFailure } from './provider-failure.ts';

/** How the provider call under way ended. */
export interface AttemptOutcome {
  status: AttemptStatus;
  httpStatus?: number | null;
  errorCode?: string | null;
  responseModel?: string | null;
  /** Usage as the provider reported it; null when it did not, and then the tokens are estimated from the texts. */
  usage: Usage | null;
  /** The tier that served the call, where the provider named it. */
  serviceTier?: string | null;
  /** The text that was answered so far, for estimating. */
  answer?: TextSample | undefined;
  /** Tokens that the deployment makes in the time of the call. Default: none. */
  generated?: number;
}

/** Records each provider call before it is made and when it ends. */
export interface AttemptRecord {
  /** A model whose API can't express the request was passed over. It counts once another one is called. */
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
  endAttempt(outcome: AttemptOutcome): Promise<void>;
  /** Ends the call under way with a failure. `answer`: as much as came of it, if it has begun. */
  failAttempt(
    failure: ProviderFailure,
    answer: Omit<MeteredAnswer, 'responseModel'> | null,
    generated: number,
  ): Promise<void>;
}
