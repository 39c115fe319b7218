import { maxFrameBytes } from '@gatehouse/dialects/bounds';
import { ChunkList } from '@gatehouse/kit/chunk-list';
import { answerKind, withoutMark } from '@gatehouse/dialects/wire/answer-kind';
import { assertReadable } from '@gatehouse/dialects/wire/readable';
import { FrameSplitter, hasData } from '@gatehouse/dialects/wire/sse-frames';
import type { AnswerOrigin, EncodedStream, ResponseHeaders, StreamSplitter } from './provider-kind.ts';
import { ProviderFailure } from './provider-failure.ts';

import type { FrameConsumer, ProviderCall, ProviderStream } from './adapter.ts';
import { ResponseHandler } from './response-handler.ts';

/**
 * Splits a streamed answer into frames. `opened` resolves at the first frame with data, until which another call can take
 * this one's place. Comments before it are dropped.
 */
export class StreamHandler extends ResponseHandler implements ProviderStream {
  readonly opened: Promise<ProviderStream>;
  readonly #encoding: EncodedStream | undefined;
  #splitter: StreamSplitter = new FrameSplitter();
  #saysEvents = false;
  #kind: 'events' | 'object' | null = null;
  /** Bytes before the kind was known, or the whole answer so far. */
  #begun = new ChunkList();
  #early: Buffer[] = [];
  /** Bytes of frames not yet taken or delivered by the consumer. */
  #undelivered = 0;
  #delivers = true;
  #consumer: FrameConsumer | null = null;
  #ended = false;
  #failure: ProviderFailure | null = null;
  #resolve!: (stream: ProviderStream) => void;
  #reject!: (failure: ProviderFailure) => void;

  constructor(origin: AnswerOrigin, call: ProviderCall) {
    super(origin, call);
    this.#encoding = origin.splitter;
    this.opened = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  consume(consumer: FrameConsumer): void {
    this.#consumer = consumer;
    const early = this.#early;
    this.#early = [];
    this.#undelivered = 0;
    this.#deliver(consumer, early);
    this.hold(this.#splitter.size + this.#undelivered);
    if (this.#failure !== null) consumer.fail(this.#failure);
    else if (this.#ended) consumer.end();
  }

  pause(undelivered: number): void {
    this.#delivers = false;
    this.#undelivered = undelivered;
    this.waitForClient(true);
    this.hold(this.#splitter.size + undelivered);
  }

  resume(): void {
    this.#delivers = true;
    this.#undelivered = 0;
    this.waitForClient(false);
    this.hold(this.#splitter.size);
  }

  cancel(): void {
    this.stop(new ProviderFailure('aborted', this.provider));
  }

  protected override accept(headers: ResponseHeaders): void {
    const type = headers['content-type'];
    const says = (name: string): boolean => typeof type === 'string' && type.toLowerCase().startsWith(name);
    this.#saysEvents = says('text/event-stream');
    if (this.#encoding === undefined || !says(this.#encoding.contentType)) return;
    this.#splitter = this.#encoding.create();
    this.#kind = 'events';
  }

  protected override data(chunk: Buffer): void {
    if (this.#kind === 'events') this.#take(this.#splitter.push(chunk));
    else this.#look(chunk);
    this.hold(this.#splitter.size + this.#undelivered + this.#begun.size);
  }

  /** By its first bytes: content types are often wrong, and some servers know no streams. */
  #look(chunk: Buffer): void {
    this.#begun.push(chunk);
    if (this.#begun.size > maxFrameBytes) throw new ProviderFailure('invalid', this.provider);
    if (this.#kind === 'object') return;
    const begun = this.#begun.concat();
    const kind = answerKind(begun);
    if (kind === null) return;
    if (kind === 'other' && !this.#saysEvents) throw new ProviderFailure('invalid', this.provider);
    this.#kind = kind === 'object' ? 'object' : 'events';
    if (this.#kind === 'object') return;
    this.#begun = new ChunkList();
    this.#take(this.#splitter.push(begun));
  }

  protected override get wanted(): boolean {
    return this.#delivers;
  }

  protected override goesOn(failure: ProviderFailure): boolean {
    if (this.#consumer?.leave?.(failure) !== true) return false;
    this.resume();
    return true;
  }

  protected override end(): void {
    if (this.#begun.size > 0) this.#takeWhole(withoutMark(this.#begun.concat()));
    const { rest } = this.#splitter;
    // The end of the body also ends a last frame without a blank line.
    if (rest.length > 0) this.#take([Buffer.concat([rest, Buffer.from('\n\n')])]);
    this.#ended = true;
    if (this.#consumer !== null) this.#consumer.end();
    else if (this.#early.length > 0) this.#resolve(this);
    else this.#reject(new ProviderFailure('connection', this.provider));
  }

  protected override fail(failure: ProviderFailure): void {
    this.#failure = failure;
    if (this.#consumer !== null) this.#consumer.fail(failure);
    else this.#reject(failure);
  }

  /** A whole answer in place of a stream. */
  #takeWhole(answer: Buffer): void {
    this.#begun = new ChunkList();
    assertReadable(answer);
    this.#take(this.format.streamFrames(answer));
  }

  #take(frames: Buffer[]): void {
    if (this.#consumer !== null) {
      if (frames.length > 0) this.#deliver(this.#consumer, frames);
      return;
    }
    const first = this.#early.length > 0 ? 0 : frames.findIndex(hasData);
    if (first < 0) return;
    const lastFrames = frames.slice(first);
    this.#early.push(...lastFrames);
    this.#undelivered += sizeOf(lastFrames);
    this.#resolve(this);
  }

  #deliver(consumer: FrameConsumer, frames: readonly Buffer[]): void {
    this.#delivers = consumer.frames(frames);
    this.#undelivered = this.#delivers ? 0 : this.#undelivered + sizeOf(frames);
    if (!this.#delivers) this.waitForClient(true);
  }
}

function sizeOf(frames: readonly Buffer[]): number {
  return frames.reduce((sum, { length }) => sum + length, 0);
}
