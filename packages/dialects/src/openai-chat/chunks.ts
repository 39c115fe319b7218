import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { errorIn, errorInEvent } from '../provider-errors.ts';
import type { Usage } from '../usage/usage.ts';
import { frameData, frameEvent } from '../wire/sse-frames.ts';
import { writeUsage } from './usage.ts';

/** A frame of a stream. `error`: one that takes the place of choices; a choice has its own error. */
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

/** The id, time and model of a stream: the first of each that is not empty. Azure's first chunk has none of them. */
export class ChunkHead {
  readonly #head: Fields = {};

  add(chunk: Fields): void {
    for (const name of ['id', 'created', 'model']) this.#head[name] ||= chunk[name];
  }

  get built(): Fields {
    return this.#head;
  }
}

/** The last frames of a stream with this head. `usage`: null for a client that did not request it. */
export function endFrames(head: Fields, usage: Usage | null): Buffer[] {
  if (usage === null) return [doneFrame];
  const chunk = { ...head, object: 'chat.completion.chunk', choices: [], usage: writeUsage(usage) };
  return [frameOf(chunk), doneFrame];
}
