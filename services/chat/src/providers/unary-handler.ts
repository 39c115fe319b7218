import { ChunkList } from '@gatehouse/kit/chunk-list';
import { answerKind, withoutMark } from '@gatehouse/dialects/wire/answer-kind';
import {
  NoAnswer,
  type AnswerBuilder,
  type AnswerFormat,
  type ReadOptions,
  type WholeAnswer,
} from '@gatehouse/dialects/dialect';
import { FrameSplitter } from '@gatehouse/dialects/wire/sse-frames';
import { ProviderFailure, type FailureKind } from './provider-failure.ts';
import type { ProviderCall } from './adapter.ts';
import type { AnswerOrigin, ResponseHeaders } from './provider-kind.ts';
import { ResponseHandler } from './response-handler.ts';
import { maxAnswerBytes } from '../bounds.ts';

/** Failures of a connection after which an answer begun in pieces counts as broken off. */
const paidFor: ReadonlySet<FailureKind> = new Set(['connection', 'timeout']);

/** Collects a whole answer, of a stream where the provider sends one unasked. */
export class UnaryHandler extends ResponseHandler {
  readonly answer: Promise<Buffer>;
  /** Those of the response, once there is an answer. */
  headers: ResponseHeaders = {};
  #chunks = new ChunkList();
  #bytes = 0;
  #isKnown = false;
  /** Splits and collects an answer that comes in events. */
  #events: { splitter: FrameSplitter; builder: AnswerBuilder } | null = null;
  #resolve!: (answer: Buffer) => void;
  #reject!: (failure: ProviderFailure) => void;

  constructor(origin: AnswerOrigin, call: ProviderCall) {
    super(origin, call);
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  protected override accept(headers: ResponseHeaders): void {
    // The body is checked once it is parsed.
    this.headers = headers;
  }

  protected override data(chunk: Buffer): void {
    if (this.#events !== null) this.#build(this.#events.splitter.push(chunk));
    else {
      this.#chunks.push(chunk);
      // By its first bytes: content types are often wrong.
      if (!this.#isKnown) this.#look();
    }
    this.#bytes += chunk.length;
    if (this.#bytes > maxAnswerBytes) throw new ProviderFailure('invalid', this.provider);
    this.hold(this.#bytes);
  }

  protected override end(): void {
    if (this.#events === null) {
      this.#resolve(withoutMark(this.#chunks.concat()));
      return;
    }
    const { splitter, builder } = this.#events;
    const { rest } = splitter;
    if (rest.length > 0) this.#build([Buffer.concat([rest, Buffer.from('\n\n')])]);
    const answer = builder.built;
    if (answer === null) throw new ProviderFailure('connection', this.provider);
    this.#resolve(answer);
  }

  #look(): void {
    const begun = this.#chunks.concat();
    const kind = answerKind(begun);
    if (kind === null) return;
    this.#isKnown = true;
    if (kind !== 'events') return;
    this.#events = { splitter: new FrameSplitter(), builder: this.format.answerBuilder() };
    this.#chunks = new ChunkList();
    this.#build(this.#events.splitter.push(begun));
  }

  #build(frames: readonly Buffer[]): void {
    for (const frame of frames) this.#events?.builder.add(frame);
  }

  protected override fail(failure: ProviderFailure): void {
    // Generated text is to be paid for.
    const broken = paidFor.has(failure.kind) ? this.#events?.builder.built : null;
    if (broken) this.#resolve(broken);
    else this.#reject(failure);
  }
}

/**
 * Reads a whole answer; a promise only where the format reads it in pieces. Throws the provider's failure if the bytes
 * are no answer.
 */
export function readUnaryAnswer(
  { name, format }: { name: string; format: AnswerFormat },
  bytes: Buffer,
  options: ReadOptions,
): WholeAnswer | Promise<WholeAnswer> {
  const fail = (error: unknown): never => {
    if (error instanceof NoAnswer && error.error !== null) throw ProviderFailure.inAnswer(name, error.error);
    // For example the depth of an answer beyond the stack.
    throw ProviderFailure.from(error, name);
  };
  try {
    const answer = format.readWhole(bytes, options);
    return answer instanceof Promise ? answer.catch(fail) : answer;
  } catch (error) {
    return fail(error);
  }
}
