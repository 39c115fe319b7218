import type { TraceContext } from '@gatehouse/kit/trace-context';
import type { Operation } from '../openai/completion-request.ts';
import type { ProviderFailure } from './provider-failure.ts';
import type { AnswerRoom } from './answer-budget.ts';

/** One call of a provider, in OpenAI's wire format. */
export interface ProviderCall {
  operation: Operation;
  /** The request as the provider gets it. The adapter takes it and leaves null, so that it is freed once sent. */
  body: Buffer | null;
  trace: TraceContext;
  /** Aborted when the client leaves: the connection to the provider is closed at once. */
  signal: AbortSignal;
  /** Called when the provider's success headers arrive. */
  onHeaders: () => void;
  /** What the answer may take in memory. The caller closes it once the answer is delivered, or has failed. */
  room: AnswerRoom;
}

/** Takes the frames of a stream as they come. */
export interface FrameConsumer {
  /** Complete frames, in order. Returns false to be left alone until `resume`. */
  frames(frames: readonly Buffer[]): boolean;
  /** The provider ended its response in order; whether the stream was complete is the consumer's to know. */
  end(): void;
  fail(failure: ProviderFailure): void;
}

/** A stream whose first frame has come. */
export interface ProviderStream {
  /** Hands over all frames so far at once, and then each as it comes. */
  consume(consumer: FrameConsumer): void;
  /** The consumer has taken frames, and `undelivered` bytes of them wait for its client: nothing more until `resume`. */
  pause(undelivered: number): void;
  resume(): void;
  /** Closes the connection to the provider, which would go on answering nobody. */
  cancel(): void;
}

/**
 * Speaks to one provider. What it gives out is OpenAI's format, whatever the provider's own is. Every rejection is a
 * `ProviderFailure`.
 */
export interface ProviderAdapter {
  /** The whole answer: the bytes of a JSON document. */
  complete(call: ProviderCall): Promise<Buffer>;
  /** A streamed answer; resolves at its first frame, so that until then another call can take its place. */
  stream(call: ProviderCall): Promise<ProviderStream>;
  close(): Promise<void>;
}
