import type { AppError } from '@gatehouse/kit/errors';
import type { Model } from '../catalogue/catalogue.ts';
import type { FrameSink } from '@gatehouse/dialects/dialect';
import type { AnswerReceiver, ObjectAnswer } from '../providers/provider-chain.ts';
import type { StoreAnswer } from '../runs/run.ts';

/**
 * Takes the answer of a turn to the one that asked for it: an HTTP client, or a caller that collects the answer. A turn
 * calls `sendObject`, or `openStream` and `endStream`, or `fail`, and last of all `close`.
 */
export interface AnswerSink extends AnswerReceiver {
  /** Stores a whole answer in the transaction that ends its run. */
  readonly stored?: StoreAnswer | undefined;
  /** Delivers a whole answer. Its run has ended. */
  sendObject(answer: ObjectAnswer): void;
  /** The receiver of the chunks of a streamed answer. */
  openStream(model: Model): FrameSink;
  /** Completes the stream with these frames. Its run has ended. */
  endStream(lastFrames: readonly Buffer[]): void;
  /** Reports an error. Throws it if nothing was sent yet and the receiver is there: the caller answers with it then. */
  fail(error: AppError, failure: TurnFailure): void;
  /** The turn is over. */
  close(): void;
}

export interface TurnFailure {
  /** The value that was thrown. */
  cause: unknown;
  /** Whether a provider was called, so that there is a run. */
  hasRun: boolean;
}
