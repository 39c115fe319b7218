import { isFields, type Fields, listOf } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { errorIn, errorInEvent, parseError, saysSomething } from '../provider-errors.ts';
import type { Usage } from '../usage/usage.ts';
import { frameData, frameEvent } from '../wire/sse-frames.ts';
import { writeUsage } from './usage.ts';
import { messageText, spokenText } from './message-text.ts';

/** A frame of a stream. `error`: one in place of choices; a choice has its own error. */
export type ChunkFrame =
  | { type: 'chunk'; chunk: Fields }
  | { type: 'error'; error: ProviderError }
  | { type: 'done' }
  /** A comment, or a frame without data. */
  | { type: 'empty' };

const done: ChunkFrame = { type: 'done' };
const empty: ChunkFrame = { type: 'empty' };

/** Parses a frame. Throws if its data is not the JSON of an object. */
export function parseFrame(frame: Buffer): ChunkFrame {
  const data = frameData(frame);
  if (data === null || data === '') return empty;
  if (data === '[DONE]') return done;
  if (frameEvent(frame) === 'error') return { type: 'error', error: errorInEvent(data) };
  const chunk: unknown = JSON.parse(data);
  if (!isFields(chunk)) throw new Error('a chunk of the stream is not an object');
  const error = errorIn(chunk);
  return error === null ? { type: 'chunk', chunk } : { type: 'error', error };
}

export function frameOf(chunk: Fields): Buffer {
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);
}

/** The end of a stream. */
export const doneFrame = Buffer.from('data: [DONE]\n\n');

/** The id, time and model of a stream: the first of each that is not empty. Azure's first chunk lacks all three. */
export class ChunkHead {
  readonly #head: Fields = {};

  add(chunk: Fields): void {
    for (const name of ['id', 'created', 'model']) this.#head[name] ||= chunk[name];
  }

  get built(): Fields {
    return this.#head;
  }
}

/** The last frames of a stream with this head. `usage`: null for a client without a request for it. */
export function endFrames(head: Fields, usage: Usage | null): Buffer[] {
  if (usage === null) return [doneFrame];
  const chunk = { ...head, object: 'chat.completion.chunk', choices: [], usage: writeUsage(usage) };
  return [frameOf(chunk), doneFrame];
}

/** The error of a choice broken off at the provider, or null. */
export function errorInChoice(choice: Fields): ProviderError | null {
  const { error, finish_reason: reason } = choice;
  if (saysSomething(error)) return parseError(choice);
  return typeof reason === 'string' && brokenOff.test(reason) ? {} : null;
}

/** Whether a finish reason ends a choice. Some servers send an empty one, or Python's, with each chunk. */
export function hasFinished(reason: unknown): boolean {
  return typeof reason === 'string' && reason !== '' && !/^(?:null|none|undefined)$/i.test(reason);
}

/** `error`; vLLM's `abort`; Zhipu's `network_error`; DeepSeek's `insufficient_system_resource`. */
const brokenOff = /error|abort|^failed$|^insufficient_system_resource$/i;

/**
 * Finds the content of a choice in each chunk. Some servers send messages in place of deltas, in pieces or at once, and
 * some the whole message again behind the deltas: only the parts of it missing from the deltas are new.
 */
export class SpokenChoice {
  #hasDeltas = false;
  #hasContent = false;
  #hasCalls = false;

  /** Returns what is new in a choice of a chunk; null where it says nothing. */
  newIn({ delta, message }: Fields): Fields | null {
    const piece = isFields(delta) ? delta : null;
    if (piece !== null) this.#note(piece);
    if (!isFields(message)) return piece;
    if (!this.#hasDeltas) return message;
    const { content, tool_calls: calls, function_call: old } = message;
    const missing = {
      ...(!this.#hasContent && { content }),
      ...(!this.#hasCalls && { tool_calls: calls, function_call: old }),
    };
    this.#note(missing);
    return { ...piece, ...missing };
  }

  #note(piece: Fields): void {
    const { content, tool_calls: calls, function_call: old } = piece;
    this.#hasContent ||= typeof content === 'string' ? content !== '' : spokenText(content) !== '';
    this.#hasCalls ||= isFields(calls) || isFields(old) || listOf(calls).length > 0;
    this.#hasDeltas ||= this.#hasContent || this.#hasCalls || messageText(piece) !== '';
  }
}
