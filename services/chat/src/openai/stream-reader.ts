import { cutText } from '@gatehouse/events/cut-text';
import { textLimits } from '@gatehouse/events/run-event';
import { KeptText } from './kept-text.ts';
import { SampleBuilder, type TextSample } from './token-estimate.ts';
import { readServiceTier, readUsage } from './usage-reader.ts';
import type { Usage } from './usage.ts';

/** What one frame of a completion stream is. */
export type FrameKind =
  /** Goes to the client as it is. */
  | 'chunk'
  /** The usage chunk: empty choices and a usage object. */
  | 'usage'
  | 'done'
  /** The provider reports an error inside the stream. */
  | 'error'
  /** A comment or an empty frame. */
  | 'other';

/** Reads usage, text and finish reasons from a stream of OpenAI chunks. */
export class StreamReader {
  usage: Usage | null = null;
  /** The tier that serves the call, where the provider names it. */
  serviceTier: string | null = null;
  responseModel: string | null = null;
  /** The beginning of the message when the provider reported an error. */
  errorMessage: string | undefined;
  readonly #choices: number;
  readonly #finished = new Set<number>();
  #head: { id: unknown; created: unknown; model: unknown } | null = null;
  readonly #text = new SampleBuilder();
  readonly #kept: KeptText | null;

  /** `choices`: how many answers were asked for. `keepsText`: whether `keptText` is wanted. */
  constructor(choices: number, keepsText = false) {
    this.#choices = choices;
    this.#kept = keepsText ? new KeptText() : null;
  }

  /** Reads the data of one frame. Throws if it is not the JSON of a chunk. */
  read(data: string | null): FrameKind {
    if (data === null || data === '') return 'other';
    if (data === '[DONE]') return 'done';
    const chunk: unknown = JSON.parse(data);
    if (typeof chunk !== 'object' || chunk === null)
      throw new Error('a chunk of the stream is not an object');
    const fields = chunk as Record<string, unknown>;
    const { id, created, model, choices, usage, error } = fields;
    if (error !== undefined && error !== null) {
      const { message } = error as { message?: unknown };
      this.errorMessage =
        typeof message === 'string' ? cutText(message, textLimits.error_message) : undefined;
      return 'error';
    }
    if (this.#head === null) {
      this.#head = { id, created, model };
      if (typeof model === 'string') this.responseModel = cutText(model, textLimits.response_model);
    }
    // Some providers repeat a running total in every chunk; the newest one counts.
    this.usage = readUsage(usage) ?? this.usage;
    this.serviceTier = readServiceTier(fields) ?? this.serviceTier;
    if (!Array.isArray(choices)) return 'chunk';
    for (const choice of choices) this.#readChoice(choice);
    return choices.length === 0 && typeof usage === 'object' && usage !== null ? 'usage' : 'chunk';
  }

  /** Whether a chunk of the answer arrived. */
  get begun(): boolean {
    return this.#head !== null;
  }

  /** Whether every requested choice has its finish reason, so that a clean close is no cut. */
  get complete(): boolean {
    return this.#finished.size >= this.#choices;
  }

  /** The text of the answer so far, tool calls' arguments included. */
  get answer(): TextSample {
    return this.#text.built;
  }

  /** What the model said so far, cut; empty unless it is kept. */
  get keptText(): string {
    return this.#kept?.text ?? '';
  }

  /** A usage chunk in the stream's own id, time and model, for a client that asked and a provider that never sent one. */
  usageChunk(usage: Usage): Buffer {
    return usageChunk(this.#head ?? {}, usage);
  }

  #readChoice(choice: unknown): void {
    if (typeof choice !== 'object' || choice === null) return;
    const { index, delta, finish_reason: finishReason } = choice as Record<string, unknown>;
    if (finishReason !== undefined && finishReason !== null)
      this.#finish(typeof index === 'number' ? index : 0);
    if (typeof delta !== 'object' || delta === null) return;
    this.#text.add(messageText(delta as Record<string, unknown>));
    this.#kept?.add(delta);
  }

  /** A choice that was not requested completes nothing. */
  #finish(index: number): void {
    if (index >= 0 && index < this.#choices) this.#finished.add(index);
  }
}

/** The text that a message or a delta costs output tokens for. */
export function messageText(message: Record<string, unknown>): string {
  const { content, refusal, reasoning_content: reasoning, tool_calls: toolCalls } = message;
  let text = '';
  for (const part of [reasoning, content, refusal]) if (typeof part === 'string') text += part;
  if (!Array.isArray(toolCalls)) return text;
  for (const call of toolCalls) {
    const { function: called } = (call ?? {}) as { function?: { name?: unknown; arguments?: unknown } };
    if (typeof called?.name === 'string') text += called.name;
    if (typeof called?.arguments === 'string') text += called.arguments;
  }
  return text;
}

/** A usage chunk in the id, time and model of `head`. */
export function usageChunk(head: object, usage: Usage): Buffer {
  const chunk = {
    ...head,
    object: 'chat.completion.chunk',
    choices: [],
    usage: {
      prompt_tokens: usage.inputTokens,
      completion_tokens: usage.outputTokens,
      total_tokens: usage.inputTokens + usage.outputTokens,
      prompt_tokens_details: { cached_tokens: usage.cachedInputTokens },
      completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    },
  };
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);
}
