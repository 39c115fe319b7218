import { isFields, type Fields } from '@gatehouse/kit/fields';
import { writeJson } from '../wire/json-text.ts';
import { frameData, frameEvent } from '../wire/sse-frames.ts';
import type { ProviderError } from '../dialect.ts';
import { parsePublicError, publicErrorIn } from '../public-errors.ts';
import { latestReport } from '../usage/reported-usage.ts';

/** An event of a stream. */
export interface MessageEvent {
  type: string;
  fields: Fields;
  /** The index of its block. */
  index: number;
  /** The error that it reports; null for an event of an answer, and for one that is not known. */
  error: ProviderError | null;
}

/** Whether an event makes up an answer. */
function isOfAnswer(type: string): boolean {
  return type.startsWith('content_block_') || type.startsWith('message_');
}

/**
 * The event in a frame; null for a comment or an empty frame. Its type stands in its data, and is its name where that
 * lacks it. Throws if the data is no JSON object.
 */
export function eventOf(frame: Buffer): MessageEvent | null {
  const data = frameData(frame);
  if (data === null || data === '') return null;
  const fields: unknown = JSON.parse(data);
  if (!isFields(fields)) throw new Error('an event of the stream is not an object');
  const type = typeof fields['type'] === 'string' ? fields['type'] : (frameEvent(frame) ?? '');
  const index = typeof fields['index'] === 'number' ? fields['index'] : 0;
  return { type, fields, index, error: isOfAnswer(type) ? null : errorOf(type, fields) };
}

function errorOf(type: string, fields: Fields): ProviderError | null {
  return type === 'error' ? parsePublicError(fields) : publicErrorIn(fields);
}

/** Follows the events of a message: its usage as reported so far, and how near its end is. */
export class MessageProgress {
  usage: Fields = {};
  /** Whether the event with the end, and its usage, has come. */
  hasStopped = false;
  /** Whether a block has ended that may be the last one, and none has begun since. */
  #mayEnd = false;
  #isThought = false;

  add({ type, fields }: MessageEvent): void {
    switch (type) {
      case 'message_start':
        this.usage = latestReport(this.usage, firstUsage(fields['message']));
        break;
      case 'content_block_start':
        this.#mayEnd = false;
        this.#isThought = isThought(fields['content_block']);
        break;
      case 'content_block_stop':
        this.#mayEnd = !this.#isThought;
        break;
      case 'message_delta':
        this.hasStopped ||= hasStopped(fields['delta']);
        this.usage = latestReport(this.usage, fields['usage']);
    }
  }

  get awaitsUsage(): boolean {
    return this.#mayEnd && !this.hasStopped;
  }
}

export function frameOf(fields: Fields & { type: string }): Buffer {
  return Buffer.from(`event: ${fields.type}\ndata: ${writeJson(fields)}\n\n`);
}

/** The last event of a complete stream, where the provider sent none. */
export const stopFrame = frameOf({ type: 'message_stop' });

/** Usage at the beginning of a stream, whose output is that of the first piece alone. */
export function firstUsage(message: unknown): Fields {
  const { usage } = Object(message) as Fields;
  return isFields(usage) ? { ...usage, output_tokens: 0 } : {};
}

/** Whether a block is a thought, which is not the last of a message. */
function isThought(block: unknown): boolean {
  const { type } = Object(block) as Fields;
  return type === 'thinking' || type === 'redacted_thinking';
}

/** Whether the client is to call tools, so that what is said is not yet the answer. */
export function callsTools(message: unknown): boolean {
  return (Object(message) as Fields)['stop_reason'] === 'tool_use';
}

/** Whether a message has its end: why it stopped. */
export function hasStopped(message: unknown): boolean {
  const { stop_reason: reason } = Object(message) as Fields;
  return typeof reason === 'string' && reason !== '';
}
