import { RefusedRequest, defaultErrorFor, errorBody } from './errors.ts';
import type { WireError } from './errors.ts';
import type { Frame, Framing } from './frame.ts';
import type { ChargedUsage } from './records.ts';

/** An answer of an API before its delivery, which faults may change. */
export interface Answer {
  id: string | null;
  /** The usage that the provider charges; null if the answer is free. */
  usage: ChargedUsage | null;
  streamed: boolean;
  /** How a stream is written; absent for server-sent events. */
  framing?: Framing;
  /** The events of the answer as a stream, in order; null where the API has no streams. */
  frames: (() => Frame[]) | null;
  /** The body of the answer in one piece. */
  whole: () => string;
}

export type KeyHeader = 'authorization' | 'x-api-key' | 'x-goog-api-key';

/** The parts of an API that all its answers share: credentials, headers and errors. */
export interface AnswerFormat {
  /** Headers that may carry the key. */
  readonly keyHeaders: readonly KeyHeader[];
  /** Headers of every answer. */
  readonly headers: Readonly<Record<string, string>>;
  wrongKey: () => RefusedRequest;
  /** The error for a status, if a fault does not set its fields. */
  defaultError: (status: number) => WireError;
  refusal: (refused: RefusedRequest) => WireError;
  errorBody: (error: WireError) => string;
  /** The events that report an error inside a stream, after the frames that were sent. */
  errorEvents: (error: WireError, sent: readonly Frame[]) => Pick<Frame, 'event' | 'data'>[];
}

/** The format of all paths without one of their own. */
export const openAiFormat: AnswerFormat = {
  keyHeaders: ['authorization'],
  headers: {},
  wrongKey: () => {
    const message =
      'Incorrect API key provided. You can find your API key in the test that started the simulator.';
    return new RefusedRequest(message, { status: 401, code: 'invalid_api_key' });
  },
  defaultError: defaultErrorFor,
  refusal: (refused) => refused.toWire(),
  errorBody,
  errorEvents: (error) => [{ data: errorBody(error) }],
};
