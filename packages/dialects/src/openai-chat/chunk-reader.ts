import { isFields } from '@gatehouse/kit/fields';
import type { FrameKind, ProviderError, StreamReader } from '../dialect.ts';
import { StreamMeter } from '../stream-meter.ts';
import { messageText, spokenText } from './message-text.ts';
import { errorIn, errorInEvent } from '../provider-errors.ts';
import { errorInChoice, hasFinished } from './provider-error.ts';
import { SpokenChoice } from './spoken-choice.ts';
import { readServiceTier, usageIn } from '../usage/usage-reader.ts';
import { assertReadable } from '../wire/readable.ts';
import { frameData, frameEvent } from '../wire/sse-frames.ts';
import { laterUsage, type Usage } from '../usage/usage.ts';

/** Reads usage, text and finish reasons from a stream of OpenAI chunks. */
export class ChunkReader extends StreamMeter implements StreamReader {
  usage: Usage | null = null;
  /** The tier that serves the call, where the provider names it. */
  serviceTier: string | null = null;
  readonly #choices: number;
  readonly #finished = new Set<number>();
  readonly #spoken = new Map<number, SpokenChoice>();
  readonly #head = new ChunkHead();
  /** The provider's own, which the client gets last or not at all. */
  #usageFrame: Buffer | null = null;
  /** Whether usage came with the last finish reason, or after it. */
  #hasLastUsage = false;

  /** `choices`: how many answers were asked for. `keepsText`: whether `keptText` is wanted. */
  constructor(choices: number, keepsText = false) {
    super(keepsText);
    this.#choices = choices;
  }

  read(frame: Buffer): FrameKind {
    assertReadable(frame);
    const { usage } = this;
    const kind = this.readData(frameData(frame), frameEvent(frame));
    this.#hasLastUsage ||= this.complete && this.usage !== usage;
    if (kind === 'usage') this.#usageFrame = frame;
    return kind;
  }

  /** Reads the data of one frame, whose event has a name or none. Throws if it is not the JSON of an object. */
  readData(data: string | null, event?: string): FrameKind {
    if (data === null || data === '') return 'other';
    if (data === '[DONE]') return 'done';
    if (event === 'error') return this.failed(errorInEvent(data));
    const fields: unknown = JSON.parse(data);
    if (!isFields(fields)) throw new Error('a chunk of the stream is not an object');
    const error = errorIn(fields);
    if (error !== null) return this.failed(error);
    const { choices, usage } = fields;
    this.usage = laterUsage(this.usage, usageIn(fields));
    this.serviceTier = readServiceTier(fields) ?? this.serviceTier;
    if (!Array.isArray(choices)) return isFields(usage) ? 'usage' : 'foreign';
    this.#head.add(fields);
    if (this.responseModel === null) this.addModel(this.#head.built['model']);
    for (const choice of choices) {
      const broken = isFields(choice) ? this.#readChoice(choice) : null;
      if (broken !== null) return this.failed(broken);
    }
    return choices.length === 0 && isFields(usage) ? 'usage' : 'chunk';
  }

  /** Whether every requested choice has its finish reason, so that a clean close is no cut. */
  get complete(): boolean {
    return this.#finished.size >= this.#choices;
  }

  get awaitsUsage(): boolean {
    return this.complete && !this.#hasLastUsage;
  }

  endFrames(usage: Usage | null): Buffer[] {
    return usage === null
      ? [doneFrame]
      : [this.#usageFrame ?? usageChunk(this.#head.built, usage), doneFrame];
  }

  /** Returns the error of a choice that broke off. */
  #readChoice(choice: Record<string, unknown>): ProviderError | null {
    const { index, finish_reason: finishReason } = choice;
    const error = errorInChoice(choice);
    if (error !== null) return error;
    this.begun = true;
    const at = typeof index === 'number' ? index : 0;
    if (hasFinished(finishReason)) this.#finish(at);
    const said = this.#spokenAt(at).newIn(choice);
    if (said === null) return null;
    this.addText(messageText(said), this.takesSpoken ? spokenText(said['content']) : '');
    return null;
  }

  /** Choices that were not requested count as one. */
  #spokenAt(index: number): SpokenChoice {
    const at = index >= 0 && index < this.#choices ? index : -1;
    const known = this.#spoken.get(at);
    if (known !== undefined) return known;
    const made = new SpokenChoice();
    this.#spoken.set(at, made);
    return made;
  }

  /** A choice that was not requested completes nothing. */
  #finish(index: number): void {
    if (index >= 0 && index < this.#choices) this.#finished.add(index);
  }
}

/** The id, time and model of a stream: the first of each that is not empty. Azure's first chunk has none of them. */
export class ChunkHead {
  readonly #head: Record<string, unknown> = {};

  add(chunk: Record<string, unknown>): void {
    for (const name of ['id', 'created', 'model']) this.#head[name] ||= chunk[name];
  }

  get built(): Record<string, unknown> {
    return this.#head;
  }
}

/** The end of a stream. */
export const doneFrame = Buffer.from('data: [DONE]\n\n');

/** A usage chunk in the id, time and model of `head`. */
export function usageChunk(head: object, usage: Usage): Buffer {
  const chunk = {
    ...head,
    object: 'chat.completion.chunk',
    choices: [],
    usage: shownUsage(usage),
  };
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);
}

/** Usage as OpenAI writes it. */
export function shownUsage(usage: Usage): Record<string, unknown> {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}
