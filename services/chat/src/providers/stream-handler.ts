import type { IncomingHttpHeaders } from 'node:http';
import { ProviderFailure } from '../domain/provider-failure.ts';
import { FrameSplitter, frameData } from '../domain/sse-frames.ts';
import type { FrameConsumer, ProviderStream } from './adapter.ts';
import { ExchangeHandler } from './exchange-handler.ts';

/**
 * Splits a streamed answer into frames and hands them on; waits with `opened` until the first one with data. Comments
 * before it are dropped: they say that the provider works on it, and until then another call can take its place.
 */
export class StreamHandler extends ExchangeHandler implements ProviderStream {
  readonly opened: Promise<ProviderStream>;
  readonly #splitter = new FrameSplitter();
  #early: Buffer[] = [];
  #consumer: FrameConsumer | null = null;
  #ended = false;
  #failure: ProviderFailure | null = null;
  #resolve!: (stream: ProviderStream) => void;
  #reject!: (failure: ProviderFailure) => void;

  constructor(provider: string, signal: AbortSignal, onHeaders: () => void) {
    super(provider, signal, onHeaders);
    this.opened = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  consume(consumer: FrameConsumer): void {
    this.#consumer = consumer;
    if (!consumer.frames(this.#early)) this.controller?.pause();
    this.#early = [];
    if (this.#failure !== null) consumer.fail(this.#failure);
    else if (this.#ended) consumer.end();
  }

  resume(): void {
    this.controller?.resume();
  }

  cancel(): void {
    this.stop(new ProviderFailure('aborted', this.provider));
  }

  protected override accept(headers: IncomingHttpHeaders): void {
    const type = headers['content-type'];
    if (typeof type !== 'string' || !type.toLowerCase().startsWith('text/event-stream')) {
      throw new ProviderFailure('invalid', this.provider);
    }
  }

  protected override data(chunk: Buffer): void {
    this.#take(this.#splitter.push(chunk));
  }

  protected override end(): void {
    const { rest } = this.#splitter;
    // A last frame without its blank line: the end of the body ends it.
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

  #take(frames: Buffer[]): void {
    if (this.#consumer === null) {
      const first = this.#early.length > 0 ? 0 : frames.findIndex((frame) => frameData(frame) !== null);
      if (first < 0) return;
      this.#early.push(...frames.slice(first));
      this.#resolve(this);
    } else if (!this.#consumer.frames(frames)) {
      this.controller?.pause();
    }
  }
}
