import type { ProviderError } from '../dialects/dialect.ts';
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
  /** A sequence that the client names. */
  | 'sequence'
  /** Refused for its content. */
  | 'refusal'
  /** The context of the model is full. */
  | 'context'
  /** The provider wants the same again to go on. */
  | 'pause';

/** Providers that know `stop` alone send it beside calls too. */
export function withCalls(stop: Stop, hasCalls: boolean): Stop {
  return hasCalls && stop.reason === 'end' ? { ...stop, reason: 'calls' } : stop;
}
