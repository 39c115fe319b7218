import { cutText } from '@gatehouse/events/cut-text';
import type { ProviderError } from '../dialect.ts';
import type { Usage } from '../usage/usage.ts';
import type { CallPart, Part, TextPart, ThinkingPart } from './conversation.ts';

/** A whole answer, as every API can say it. */
export interface Answer {
  id: string;
  model: string;
  parts: AnswerPart[];
  stop: Stop;
  usage: Usage | null;
  serviceTier: string | null;
  /** Why the provider broke the answer off, if it did. */
  broken: ProviderError | null;
}

export type AnswerPart = TextPart | CallPart | ThinkingPart | Extract<Part, { kind: 'refusal' }>;

export interface Stop {
  reason: StopReason;
  /** The sequence at which it stopped, where the provider says so. */
  sequence: string | null;
}

export type StopReason =
  | 'end'
  /** The limit of tokens. */
  | 'length'
  | 'calls'
  /** A sequence of the client's. */
  | 'sequence'
  /** Refused for its content. */
  | 'refusal'
  /** The context of the model is full. */
  | 'context'
  /** The provider wants the same again to go on. */
  | 'pause';

/**
 * The stop of an answer with parts of these kinds: providers with one word for all ends use it for each, and some stop for
 * calls that they don't send, for which a client would wait (https://github.com/jasonxu114514/opencode2api/pull/27).
 */
export function stopAfter(stop: Stop, kinds: ReadonlySet<AnswerPart['kind']>): Stop {
  if (stop.reason === 'calls' && !kinds.has('call')) return { ...stop, reason: 'end' };
  if (stop.reason !== 'end') return stop;
  if (kinds.has('refusal')) return { ...stop, reason: 'refusal' };
  return kinds.has('call') ? { ...stop, reason: 'calls' } : stop;
}

/** The end of an answer: `broken` is the error of one not completed by its model. */
export interface Ending {
  stop: Stop;
  broken: ProviderError | null;
}

/**
 * Reads the word of a provider for the end of an answer. An unknown one never counts as a complete answer: the API of a
 * client has no word for it.
 */
export function endingIn(
  word: string,
  known: Readonly<Record<string, StopReason>>,
  sequence: string | null = null,
): Ending {
  const reason = Object.hasOwn(known, word) ? known[word] : undefined;
  const broken =
    reason === undefined
      ? { message: `The model did not complete its answer: ${cutText(word, 100)}.` }
      : null;
  return { stop: { reason: reason ?? 'end', sequence }, broken };
}

/** The error of an answer with media, which are lost in the API of the client. */
export const hasMedia: ProviderError = {
  message: 'The model answered with an image, a sound or a file, which this API has no place for.',
};
