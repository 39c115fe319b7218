import type { Model } from '../catalogue/catalogue.ts';
import type { Usage } from '@gatehouse/dialects/usage/usage';
import type { FrameSink } from '@gatehouse/dialects/dialect';
import type { CallReasoning } from '@gatehouse/dialects/translation/signed-reasoning';
import type { FramePipe } from './frame-pipe.ts';
import type { OpenCall } from './open-call.ts';

/** A streamed answer after its first chunk. */
export class StreamAnswer {
  readonly kind = 'stream';
  readonly model: Model;
  readonly #stream: FramePipe;
  readonly #call: OpenCall;

  constructor(model: Model, stream: FramePipe, call: OpenCall) {
    this.model = model;
    this.#stream = stream;
    this.#call = call;
  }

  /** Passes the chunks on. Resolves once the stream is complete and its call has ended; throws its `ProviderFailure`. */
  async passTo(sink: FrameSink): Promise<void> {
    try {
      await this.#stream.passTo(sink);
    } catch (error) {
      throw await this.#call.failed(error, this.#stream.begunAnswer);
    }
    await this.#call.succeeded(this.#stream.metered);
  }

  /** The text of the model so far, cut; empty unless it is kept. */
  get text(): string {
    return this.#stream.reader.keptText;
  }

  /** See {@link ObjectAnswer}. */
  get thoughts(): readonly CallReasoning[] {
    return this.#stream.thoughts;
  }

  /** The last frames of a complete stream for the client, as `StreamReader` has them. */
  endFrames(usage: Usage | null): Buffer[] {
    return [...this.#stream.held, ...this.#stream.reader.endFrames(usage)];
  }
}
