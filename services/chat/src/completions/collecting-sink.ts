import type { AppError } from '@gatehouse/kit/errors';
import type { Model } from '../catalogue/catalogue.ts';
import type { AnswerBudget, AnswerRoom } from '@gatehouse/kit/answer-budget';
import type { FrameSink } from '@gatehouse/dialects/dialect';
import type { ObjectAnswer } from '../providers/provider-chain.ts';
import type { StoreAnswer } from '../runs/run.ts';
import type { AnswerSink } from '../turns/answer-sink.ts';

export interface CollectingSinkOptions {
  tenantId: string;
  answers: AnswerBudget;
  /** Ends the provider call: the answer is no longer wanted. */
  signal: AbortSignal;
  /** Stores the answer with the end of its run. */
  store?: StoreAnswer | undefined;
}

/** Keeps the answer of a turn for a caller inside the gateway. */
export class CollectingSink implements AnswerSink {
  readonly signal: AbortSignal;
  readonly begun = false;
  readonly stored: StoreAnswer | undefined;
  readonly #options: CollectingSinkOptions;
  #room: AnswerRoom | null = null;
  #answer: ObjectAnswer | null = null;

  constructor(options: CollectingSinkOptions) {
    this.#options = options;
    this.signal = options.signal;
    this.stored = options.store;
  }

  /** The answer, once the turn is over. */
  get answer(): ObjectAnswer {
    if (this.#answer === null) throw new Error('the turn has no answer');
    return this.#answer;
  }

  openRoom(): AnswerRoom {
    this.#room?.close();
    this.#room = this.#options.answers.open(this.#options.tenantId);
    return this.#room;
  }

  streamAccepted(): void {
    // Answers inside the gateway are not streamed.
  }

  sendObject(answer: ObjectAnswer): void {
    this.#answer = answer;
  }

  openStream(model: Model): FrameSink {
    throw new Error(`an answer of ${model.id} was streamed to a caller that collects it`);
  }

  endStream(): void {
    throw new Error('a stream was sent to a caller that collects its answer');
  }

  fail(error: AppError): void {
    throw error;
  }

  close(): void {
    this.#room?.close();
  }
}
