import type { AnswerRoom } from '@gatehouse/kit/answer-budget';
import type { Model } from '../catalogue/catalogue.ts';

/** The receiver of a chain's answer. */
export interface AnswerReceiver {
  /** Aborted when the answer is no longer wanted: the call under way ends, and no other follows. */
  readonly signal: AbortSignal;
  /** Whether the receiver has passed on a piece of an answer, after which no other provider call can replace a failed one. */
  readonly begun: boolean;
  /** The memory for the answer to the next call. Releases what the call before it held. */
  openRoom(): AnswerRoom;
  /** Hints of the request to be left out of the next call, since its API has no place for them. */
  ignored?(names: readonly string[]): void;
  /** The provider of `model` sent the headers of a stream; its first chunk may take long. */
  streamAccepted(model: Model): void;
}
