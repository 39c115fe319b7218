import type { GuardedText } from '@gatehouse/contract/guardrail-rules';

/** The one interface of guardrails' checks by a model or a server outside. */

export interface CheckedText {
  kind: GuardedText;
  text: string;
}

/** A match in a text, in UTF-16 units. */
export interface TextMatch {
  type: string;
  from: number;
  until: number;
}

/** The verdict on one text. Only `places` says where its matches are. */
export type TextVerdict =
  | { outcome: 'none' }
  | { outcome: 'match'; types: readonly string[] }
  | { outcome: 'places'; matches: readonly TextMatch[] }
  | { outcome: 'changed'; text: string };

export const noMatch: TextVerdict = { outcome: 'none' };

/** Facts of a run, sent to servers beside its texts. */
export interface AskingRun {
  tenantId: string;
  runId: string;
  traceId: string;
  sessionId: string | null;
  /** As the client asked for it. */
  model: string;
  userId: string | null;
  /** The first group of its user; null without one. */
  group: string | null;
  apiKeyName: string | null;
}

/** The calls of models for the checks of a run. */
export interface ModelCalls {
  /**
   * Calls a model of the catalogue as an attempt of the run, without its guardrails. Throws `OutsideFailure`, and the
   * reason of `signal`.
   */
  call(request: ModelRequest): Promise<ModelAnswer>;
}

export interface ModelRequest {
  operation: 'chat' | 'moderations';
  /** Members of the request in OpenAI's form, with the model's id. */
  fields: Readonly<Record<string, unknown>> & { model: string };
  signal: AbortSignal;
}

export interface ModelAnswer {
  /** The JSON of an answer in OpenAI's form. */
  bytes: Buffer;
  costPico: bigint;
}

export interface Question {
  texts: readonly CheckedText[];
  run: AskingRun;
  models: ModelCalls;
  signal: AbortSignal;
}

export interface Answer {
  /** One for each text, in their order. */
  verdicts: readonly TextVerdict[];
  /** The cost of calls of models, in pico-USD. */
  costPico: bigint;
}

export interface OutsideCheck {
  /** Throws `OutsideFailure`, and the reason of `signal`. */
  ask(question: Question): Promise<Answer>;
}

/** Why a check has no verdict. */
export type OutsideReason =
  /** No answer within the time of the guardrail. */
  | 'late'
  /** No connection, an error of the server or of the model, or no room in limits. */
  | 'failed'
  /** An answer of another form. */
  | 'malformed'
  /** The texts or the answer are too large. */
  | 'too_large';

/** A check without a verdict: its guardrail decides what happens. It names no text. */
export class OutsideFailure extends Error {
  readonly reason: OutsideReason;

  constructor(reason: OutsideReason, options?: ErrorOptions) {
    super(`the check is without a verdict: ${reason}`, options);
    this.name = 'OutsideFailure';
    this.reason = reason;
  }
}

/** Asks within a time. Throws `OutsideFailure` `late` beyond it. */
export async function askWithin(check: OutsideCheck, question: Question, timeoutMs: number): Promise<Answer> {
  const ends = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([question.signal, ends]);
  try {
    return await check.ask({ ...question, signal });
  } catch (error) {
    question.signal.throwIfAborted();
    throw ends.aborted ? new OutsideFailure('late', { cause: error }) : error;
  }
}
