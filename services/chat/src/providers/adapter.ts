import type { TraceContext } from '@gatehouse/kit/trace-context';
import type { Operation } from '@gatehouse/dialects/dialect';
import type { UpstreamApi } from '@gatehouse/dialects/upstream-api';
import type { Credentials } from './credentials.ts';
import type { ProviderFailure } from './provider-failure.ts';
import type { AnswerRoom } from '@gatehouse/kit/answer-budget';
import type { Pieces } from '@gatehouse/dialects/wire/pieces';

/** One call of a provider. */
export interface ProviderCall {
  /** The API of the called provider. */
  api: UpstreamApi;
  operation: Operation | 'count' | 'compact';
  /** The provider's name of the model, which some APIs have in the path. */
  model: string;
  /** See `RequestHead`. */
  isBatch?: boolean | undefined;
  /** Whether the answer is asked for as a stream. */
  stream: boolean;
  /** The client's headers, as far as its API passes them on, by lower-case name. */
  headers: Readonly<Record<string, string>>;
  /** The request in the provider's terms. The adapter sets it to null, so it is freed once sent. */
  body: Pieces | null;
  /** Called with the bytes of the call's copies of the client's request in memory; with 0 once they are sent. */
  copied?: ((bytes: number) => void) | undefined;
  /** In place of those of the provider. */
  credentials?: Credentials | undefined;
  /** The headers with the key. The adapter sets them once it is sent. */
  proof?: Readonly<Record<string, string>> | undefined;
  /** The time of `monotonicMs` at which it was sent. The adapter sets it. */
  sentAt?: number;
  trace: TraceContext;
  /** Aborted when the client leaves: the connection to the provider is closed at once. */
  signal: AbortSignal;
  /** Called when the provider's success headers arrive. */
  onHeaders: () => void;
  /** The memory for the answer. The caller closes it once the answer is delivered or has failed. */
  room: CallRoom;
}

/** The memory of an answer, as far as its call uses it. */
export type CallRoom = Pick<AnswerRoom, 'tenantId' | 'reader' | 'hold' | 'waitForClient'>;

/** Takes the frames of a stream as they come. */
export interface FrameConsumer {
  /** Complete frames, in order. Returns false to get no more until `resume`. */
  frames(frames: readonly Buffer[]): boolean;
  /** The provider ended its response in order. The consumer checks whether the stream was complete. */
  end(): void;
  fail(failure: ProviderFailure): void;
  /**
   * The answer is no longer wanted. Returns whether the stream goes on for its usage alone: the consumer cancels it then,
   * after a second at most.
   */
  leave?(failure: ProviderFailure): boolean;
}

/** A stream after its first frame. */
export interface ProviderStream {
  /** Hands over all frames so far at once, and then each as it comes. */
  consume(consumer: FrameConsumer): void;
  /** Pauses the stream until `resume`: `undelivered` bytes of the consumer's frames wait for its client. */
  pause(undelivered: number): void;
  resume(): void;
  /** Closes the connection to the provider, which would otherwise go on answering. */
  cancel(): void;
}
