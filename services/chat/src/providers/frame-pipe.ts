import type { FrameSink, MeteredAnswer, ProviderError, StreamReader } from '@gatehouse/dialects/dialect';
import type { CallReasoning } from '@gatehouse/dialects/translation/signed-reasoning';
import type { TranslatedStream } from '@gatehouse/dialects/translation/translation';
import type { FrameConsumer, ProviderStream } from './adapter.ts';
import { ProviderFailure } from './provider-failure.ts';
import { smallAnswerBytes } from '../bounds.ts';

/**
 * The end of a response behind `[DONE]` may take so long, after which its connection serves another call; and so long
 * the usage of an answer after its client has left.
 */
const endMs = 1_000;

/** So much silence after a possibly last frame, once all choices have their end, is the end of the stream. */
const lastMs = 5_000;

/**
 * A streamed answer: its frames, in the provider's own bytes, and everything read from them on their way. Complete
 * after `[DONE]`, or once every choice had its finish reason after a clean close, or after silence behind a possibly
 * last frame; everything else is a `ProviderFailure`. If its client leaves before, the stream ends at once, unless the
 * answer seems to be whole: then it ends with its usage.
 */
export class FramePipe implements FrameConsumer {
  readonly reader: StreamReader;
  readonly #provider: string;
  readonly #source: ProviderStream;
  readonly #see: ((frame: Buffer) => void) | null;
  readonly #translation: TranslatedStream | null;
  /** Frames before there was a sink. */
  #early: Buffer[] = [];
  #sink: FrameSink | null = null;
  #earlyBytes = 0;
  /** Whether a choice of the answer has arrived. */
  #begun = false;
  #complete = false;
  /** A possibly last frame. */
  #held: Buffer[] = [];
  /** Whether the newest chunk may be the last one. */
  #isLast = false;
  #ending: NodeJS.Timeout | undefined;
  #silence: NodeJS.Timeout | undefined;
  #failure: ProviderFailure | null = null;
  /** The failure of an answer read for its usage alone. */
  #left: ProviderFailure | null = null;
  /** Settle the promise of `open`, and then the one of `passTo`. */
  #resolve!: () => void;
  #reject!: (failure: ProviderFailure) => void;

  /** `see`: gets each frame as it comes. `translation`: of a stream in another API than the client's. */
  constructor(
    provider: string,
    source: ProviderStream,
    reader: StreamReader,
    {
      see = null,
      translation = null,
    }: { see?: ((frame: Buffer) => void) | null; translation?: TranslatedStream | null } = {},
  ) {
    this.#see = see;
    this.#translation = translation;
    this.#provider = provider;
    this.#source = source;
    this.reader = reader;
  }

  /** Begins to read. Resolves at the first choice of the answer; until then another call can take its place. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#source.consume(this);
    });
  }

  /** Passes all chunks but a last one to `sink` as they arrive. Resolves when the stream is complete. */
  passTo(sink: FrameSink): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#sink = sink;
      sink.onDrain(() => {
        this.#source.resume();
        this.#awaitSilence();
      });
      const early = this.#early;
      this.#early = [];
      if (!this.#write(sink, early)) this.#source.pause(early.reduce((sum, { length }) => sum + length, 0));
      if (this.#failure !== null) reject(this.#failure);
      else if (this.#complete) resolve();
    });
  }

  /** The last frame of a complete stream, which was not passed on; empty if it has a mark behind it. */
  get held(): readonly Buffer[] {
    return this.#held;
  }

  /** Everything read so far. The usage and text of a translated stream may reach the client at its end only. */
  get metered(): MeteredAnswer {
    const { usage, serviceTier, answer, responseModel } = this.reader;
    const translation = this.#translation;
    return {
      responseModel,
      serviceTier: translation?.serviceTier ?? serviceTier,
      usage: translation?.usage ?? usage,
      answer: translation?.answer ?? answer,
    };
  }

  /** The same if something was said, which is to be paid for; else null. */
  get begunAnswer(): MeteredAnswer | null {
    return this.reader.begun || (this.#translation?.answer.chars ?? 0) > 0 ? this.metered : null;
  }

  /** Calls of tools, with reasoning without a place in the client's API. */
  get thoughts(): readonly CallReasoning[] {
    return this.#translation?.thoughts ?? [];
  }

  /** See {@link FrameConsumer}. */
  frames(frames: readonly Buffer[]): boolean {
    return this.#take(this.#translation === null ? frames : translated(this.#translation, frames));
  }

  #take(frames: Iterable<Buffer>): boolean {
    clearTimeout(this.#silence);
    const chunks: Buffer[] = [];
    let goesOn = true;
    try {
      for (const frame of frames) if (!this.#complete) this.#read(frame, chunks);
      const error = this.#translation?.error ?? null;
      if (error !== null && !this.#complete) throw this.#errorOf(error);
    } catch (error) {
      this.#failure = ProviderFailure.from(error, this.#provider);
    }
    if (this.#left !== null) {
      if (this.#failure !== null || this.#complete || !this.#awaitsUsage) this.#stop(this.#left);
      return true;
    }
    if (this.#sink === null) this.#early.push(...chunks);
    else goesOn = this.#write(this.#sink, chunks);
    if (this.#failure !== null) {
      this.#stop(this.#failure);
      return true;
    }
    if (this.#complete && this.#ending === undefined) {
      this.#ending = setTimeout(() => this.#source.cancel(), endMs).unref();
      this.#resolve();
    }
    if (goesOn) this.#awaitSilence();
    return goesOn;
  }

  end(): void {
    if (this.#translation !== null && !this.#isOver) this.#take(rest(this.#translation));
    clearTimeout(this.#ending);
    clearTimeout(this.#silence);
    if (this.#isOver) return;
    if (this.#left === null && this.reader.complete) {
      this.#complete = true;
      this.#resolve();
    } else {
      this.#failure = this.#left ?? new ProviderFailure('cut', this.#provider);
      this.#reject(this.#failure);
    }
  }

  fail(failure: ProviderFailure): void {
    clearTimeout(this.#ending);
    clearTimeout(this.#silence);
    if (this.#isOver) return;
    // A broken connection after the first frame cuts the stream.
    const cut = failure.kind === 'connection';
    this.#failure =
      this.#left ?? (cut ? new ProviderFailure('cut', this.#provider, { cause: failure }) : failure);
    this.#reject(this.#failure);
  }

  /** See {@link FrameConsumer}. */
  leave(failure: ProviderFailure): boolean {
    if (this.#isOver || !this.#awaitsUsage) return false;
    this.#left = failure;
    this.#early = [];
    this.#held = [];
    clearTimeout(this.#silence);
    this.#ending = setTimeout(() => this.#source.cancel(), endMs);
    return true;
  }

  get #isOver(): boolean {
    return this.#complete || this.#failure !== null;
  }

  /** Whether the answer seems to be whole, and its usage has not come yet. */
  get #awaitsUsage(): boolean {
    return (this.#translation ?? this.reader).awaitsUsage;
  }

  #stop(failure: ProviderFailure): void {
    clearTimeout(this.#ending);
    this.#failure = failure;
    this.#reject(failure);
    this.#source.cancel();
  }

  /** Frames unreadable to the sink are a failure of the provider. */
  #write(sink: FrameSink, frames: readonly Buffer[]): boolean {
    try {
      return sink.write(frames);
    } catch (error) {
      this.#failure ??= ProviderFailure.from(error, this.#provider);
      this.#source.cancel();
      return true;
    }
  }

  #read(frame: Buffer, chunks: Buffer[]): void {
    this.#see?.(frame);
    switch (this.reader.read(frame)) {
      case 'done':
        // Generation failing before its first token looks like this at vLLM.
        if (!this.reader.begun) throw new ProviderFailure('invalid', this.#provider);
        this.#complete = true;
        break;
      case 'error':
        throw this.#errorOf(this.reader.error ?? {});
      case 'chunk':
        if (this.reader.begun) this.#begin();
        else if (!this.#hasRoom(frame)) break;
        this.#release(chunks);
        chunks.push(frame);
        break;
      case 'last':
        this.#begin();
        this.#release(chunks);
        this.#held = [frame];
        this.#isLast = true;
        break;
      case 'other':
        // Before the first choice they would be kept in memory, where nothing limits them.
        if (this.#begun) chunks.push(frame);
        break;
      case 'usage':
      case 'foreign':
    }
  }

  /** Passes on the frame taken for the last one, since another follows. */
  #release(chunks: Buffer[]): void {
    this.#isLast = false;
    if (this.#held.length > 0) chunks.push(...this.#held.splice(0));
  }

  /** Some servers keep the connection open behind the last frame. */
  #awaitSilence(): void {
    clearTimeout(this.#silence);
    if (!this.#isLast || this.#isOver || !this.reader.complete) return;
    this.#silence = setTimeout(() => {
      this.#complete = true;
      this.#source.cancel();
      this.#resolve();
    }, lastMs).unref();
  }

  #begin(): void {
    this.#begun = true;
    if (this.#sink === null) this.#resolve();
  }

  /** Whether a chunk without a choice, like Azure's first, can be kept until the answer begins; else it is dropped. */
  #hasRoom({ length }: Buffer): boolean {
    this.#earlyBytes += length;
    return this.#earlyBytes <= smallAnswerBytes;
  }

  /** An error before the answer counts as a status; a later one cuts the answer. */
  #errorOf(error: ProviderError): ProviderFailure {
    return this.#begun
      ? ProviderFailure.cut(this.#provider, error)
      : ProviderFailure.inAnswer(this.#provider, error);
  }
}

/** Frames in the client's API. */
function* translated(translation: TranslatedStream, frames: readonly Buffer[]): Generator<Buffer> {
  for (const frame of frames) yield* translation.frames(frame);
}

/** The last frames in the client's API. */
function* rest(translation: TranslatedStream): Generator<Buffer> {
  yield* translation.end();
}
