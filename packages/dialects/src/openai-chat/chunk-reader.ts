import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { FrameKind, ProviderError, StreamReader } from '../dialect.ts';
import { StreamMeter } from '../stream-meter.ts';
import {
  ChunkHead,
  endFrames,
  doneFrame,
  parseFrame,
  errorInChoice,
  hasFinished,
  SpokenChoice,
} from './chunks.ts';
import { messageText, spokenText } from './message-text.ts';
import { readServiceTier, usageIn } from '../usage/usage-reader.ts';
import { assertReadable } from '../wire/readable.ts';
import { laterUsage, type Usage } from '../usage/usage.ts';

/** Reads usage, text and finish reasons from a stream of OpenAI chunks. */
export class ChunkReader extends StreamMeter implements StreamReader {
  usage: Usage | null = null;
  /** The tier of the call, where the provider names it. */
  serviceTier: string | null = null;
  readonly #choices: number;
  readonly #finished = new Set<number>();
  readonly #spoken = new Map<number, SpokenChoice>();
  readonly #head = new ChunkHead();
  /** The provider's own, which the client gets last or not at all. */
  #usageFrame: Buffer | null = null;
  /** Whether usage came with the last finish reason, or after it. */
  #hasLastUsage = false;

  /** `choices`: the number of requested choices. `keepsText`: whether `keptText` is read. */
  constructor(choices: number, keepsText = false) {
    super(keepsText);
    this.#choices = choices;
  }

  read(frame: Buffer): FrameKind {
    assertReadable(frame);
    const parsed = parseFrame(frame);
    switch (parsed.type) {
      case 'empty':
        return 'other';
      case 'done':
        return 'done';
      case 'error':
        return this.failed(parsed.error);
      case 'chunk': {
        const { usage } = this;
        const kind = this.#readChunk(parsed.chunk);
        this.#hasLastUsage ||= this.complete && this.usage !== usage;
        if (kind === 'usage') this.#usageFrame = frame;
        return kind;
      }
    }
  }

  #readChunk(chunk: Fields): FrameKind {
    const { choices, usage } = chunk;
    this.usage = laterUsage(this.usage, usageIn(chunk));
    this.serviceTier = readServiceTier(chunk) ?? this.serviceTier;
    if (!Array.isArray(choices)) return isFields(usage) ? 'usage' : 'foreign';
    this.#head.add(chunk);
    if (this.responseModel === null) this.addModel(this.#head.built['model']);
    for (const choice of choices) {
      const broken = isFields(choice) ? this.#readChoice(choice) : null;
      if (broken !== null) return this.failed(broken);
    }
    return choices.length === 0 && isFields(usage) ? 'usage' : 'chunk';
  }

  /** Whether every requested choice has its finish reason, so a clean close is no cut. */
  get complete(): boolean {
    return this.#finished.size >= this.#choices;
  }

  get awaitsUsage(): boolean {
    return this.complete && !this.#hasLastUsage;
  }

  endFrames(usage: Usage | null): Buffer[] {
    return usage === null || this.#usageFrame === null
      ? endFrames(this.#head.built, usage)
      : [this.#usageFrame, doneFrame];
  }

  /** Returns the error of a broken-off choice. */
  #readChoice(choice: Fields): ProviderError | null {
    const { index, finish_reason: finishReason } = choice;
    const error = errorInChoice(choice);
    if (error !== null) return error;
    this.begun = true;
    const at = typeof index === 'number' ? index : 0;
    if (hasFinished(finishReason)) this.#finish(at);
    const delta = this.#spokenAt(at).newIn(choice);
    if (delta === null) return null;
    this.addText(messageText(delta), this.takesSpoken ? spokenText(delta['content']) : '');
    return null;
  }

  /** Unrequested choices count as one. */
  #spokenAt(index: number): SpokenChoice {
    const at = index >= 0 && index < this.#choices ? index : -1;
    const choice = this.#spoken.get(at);
    if (choice !== undefined) return choice;
    const made = new SpokenChoice();
    this.#spoken.set(at, made);
    return made;
  }

  /** An unrequested choice completes nothing. */
  #finish(index: number): void {
    if (index >= 0 && index < this.#choices) this.#finished.add(index);
  }
}
