import { ChunkList } from '@gatehouse/kit/chunk-list';
import { ProviderFailure } from './provider-failure.ts';
import type { ProviderCall } from './adapter.ts';
import { ResponseHandler } from './response-handler.ts';

const maxAnswerBytes = 64 * 1024 * 1024;

/** Collects a whole answer. */
export class UnaryHandler extends ResponseHandler {
  readonly answer: Promise<Buffer>;
  readonly #chunks = new ChunkList();
  #resolve!: (answer: Buffer) => void;
  #reject!: (failure: ProviderFailure) => void;

  constructor(provider: string, call: ProviderCall) {
    super(provider, call);
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  protected override accept(): void {
    // The body is checked once it is parsed.
  }

  protected override data(chunk: Buffer): void {
    this.#chunks.push(chunk);
    if (this.#chunks.size > maxAnswerBytes) throw new ProviderFailure('invalid', this.provider);
    this.hold(this.#chunks.size);
  }

  protected override end(): void {
    this.#resolve(this.#chunks.concat());
  }

  protected override fail(failure: ProviderFailure): void {
    this.#reject(failure);
  }
}
