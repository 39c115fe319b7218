import type { ProviderError } from '../dialect.ts';
import type { TextSample } from '../usage/token-estimate.ts';
import type { Usage } from '../usage/usage.ts';
import type { Stop } from './answer.ts';
import type { ReasoningSignature } from './conversation.ts';

/** An event of a streamed answer. Parts come one after the other: each is open until its `close`. */
export type StreamEvent =
  | { type: 'start'; id: string; model: string }
  | { type: 'open'; part: OpenPart }
  /** More of the open part. */
  | { type: 'delta'; text: string }
  /** `signature`: of a thought. `isCut`: whether a limit of tokens has cut the call. */
  | { type: 'close'; signature: ReasoningSignature | null; isCut?: boolean }
  | { type: 'stop'; stop: Stop }
  /** All tokens so far. `serviceTier`: the tier of the call, where the provider names it. */
  | { type: 'usage'; usage: Usage; serviceTier: string | null }
  /** The answer is complete. */
  | { type: 'end' }
  | { type: 'error'; error: ProviderError };

export type OpenPart = { kind: 'text' } | { kind: 'refusal' } | { kind: 'thinking' } | OpenStreamCall;

export interface OpenStreamCall {
  kind: 'call';
  id: string;
  name: string;
  isFreeform: boolean;
  namespace: string | null;
}

/** Reads the frames of a provider. */
export interface EventSource {
  /** Throws if the frame can't be read, or not within 50 ms. */
  read(frame: Buffer): StreamEvent[];
  /** The provider ended its response in order. Returns the rest of a complete answer, and nothing of a cut one. */
  end(): StreamEvent[];
  /** Whether the answer seems to be whole, and its usage has not come yet. */
  readonly awaitsUsage: boolean;
  /** Texts received and in no event yet, since they wait for other parts to end; absent where nothing waits. */
  readonly held?: TextSample;
}

/** A client's event: errors end the stream in the words of the gateway. */
export type WrittenEvent = Exclude<StreamEvent, { type: 'error' }>;

/** Writes the frames of a client's stream. */
export interface EventWriter {
  write(event: WrittenEvent): Buffer[];
}
