import type { Model } from '../catalogue/catalogue.ts';
import type { Usage } from '@gatehouse/dialects/usage/usage';
import type { FrameSink } from '@gatehouse/dialects/dialect';
import type { CallReasoning } from '@gatehouse/dialects/translation/signed-reasoning';
import type { StreamTranslation } from '@gatehouse/dialects/translation/translation';
import { hasBegun, meteredOf } from './call-translation.ts';
import type { FramePipe } from './frame-pipe.ts';
import type { OpenCall } from './open-call.ts';

/** A streamed answer whose first chunk arrived. */
export class StreamAnswer {
  readonly kind = 'stream';
  readonly model: Model;
  readonly #stream: FramePipe;
  readonly #call: OpenCall;
  readonly #translated: StreamTranslation | null;

  /** `translated`: null for a stream in the API of the client. */
  constructor(model: Model, stream: FramePipe, call: OpenCall, translated: StreamTranslation | null) {
    this.model = model;
    this.#stream = stream;
    this.#call = call;
    this.#translated = translated;
  }

  /** Passes the chunks on. Resolves once the stream is complete and its call has ended; throws its `ProviderFailure`. */
  async passTo(sink: FrameSink): Promise<void> {
    const { reader } = this.#stream;
    try {
      await this.#stream.passTo(sink);
    } catch (error) {
      throw await this.#call.failed(
        error,
        hasBegun(reader, this.#translated) ? meteredOf(reader, this.#translated) : null,
      );
    }
    await this.#call.succeeded(meteredOf(reader, this.#translated));
  }

  /** The text of the model so far, cut; empty unless it is kept. */
  get text(): string {
    return this.#stream.reader.keptText;
  }

  /** See {@link ObjectAnswer}. */
  get thoughts(): readonly CallReasoning[] {
    return this.#translated?.thoughts ?? [];
  }

  /** The last frames of a complete stream for the client, as `StreamReader` has them. */
  endFrames(usage: Usage | null): Buffer[] {
    return [...this.#stream.held, ...this.#stream.reader.endFrames(usage)];
  }
}
