import { isFields, type Fields } from '@gatehouse/kit/fields';
import { writeJson } from '../wire/json-text.ts';
import { frameData, frameEvent } from '../wire/sse-frames.ts';
import type { FrameKind, ProviderError, StreamReader } from '../dialect.ts';
import { parsePublicError, publicErrorIn } from '../provider-errors.ts';
import { latestReport } from '../usage/reported-usage.ts';
import { readServiceTier, readUsage } from '../usage/usage-reader.ts';
import type { Usage } from '../usage/usage.ts';
import { assertReadable } from '../wire/readable.ts';
import { StreamMeter } from '../stream-meter.ts';
import { contentText, spokenText } from './content.ts';
import { maxHeadBytes } from '../bounds.ts';

/** An event of a stream. */
export interface MessageEvent {
  type: string;
  fields: Fields;
  /** The index of its block. */
  index: number;
  /** The reported error; null for an event of an answer. */
  error: ProviderError | null;
}

/** The events of an answer. Any other one may report an error. */
const answerTypes: ReadonlySet<string> = new Set([
  ...['message_start', 'message_delta', 'message_stop'],
  ...['content_block_start', 'content_block_delta', 'content_block_stop'],
]);

/**
 * The event in a frame; null for a comment or an empty frame. Its type stands in its data, or else is its name. Throws
 * if the data is no JSON object.
 */
export function eventOf(frame: Buffer): MessageEvent | null {
  const data = frameData(frame);
  if (data === null || data === '') return null;
  const fields: unknown = JSON.parse(data);
  if (!isFields(fields)) throw new Error('an event of the stream is not an object');
  const type = typeof fields['type'] === 'string' ? fields['type'] : (frameEvent(frame) ?? '');
  const index = typeof fields['index'] === 'number' ? fields['index'] : 0;
  return { type, fields, index, error: answerTypes.has(type) ? null : errorOf(type, fields) };
}

function errorOf(type: string, fields: Fields): ProviderError | null {
  return type === 'error' ? parsePublicError(fields) : publicErrorIn(fields);
}

/** Follows the events of a message: its usage as reported so far, and how near its end is. */
export class MessageProgress {
  usage: Fields = {};
  /** Whether the event with the end, and its usage, has come. */
  hasStopped = false;
  /** Whether a block has ended, possibly the last one, without another begun since. */
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

/** The last event of a complete stream, if the provider did not send it. */
export const stopFrame = frameOf({ type: 'message_stop' });

/** Usage at the beginning of a stream. Its output counts the first piece alone. */
export function firstUsage(message: unknown): Fields {
  const { usage } = Object(message) as Fields;
  return isFields(usage) ? { ...usage, output_tokens: 0 } : {};
}

/** Whether a block is a thought, which is not the last of a message. */
function isThought(block: unknown): boolean {
  const { type } = Object(block) as Fields;
  return type === 'thinking' || type === 'redacted_thinking';
}

/** Whether the client has to call tools, so its text is no answer yet. */
export function callsTools(message: unknown): boolean {
  return (Object(message) as Fields)['stop_reason'] === 'tool_use';
}

/** Whether a message has its end: why it stopped. */
export function hasStopped(message: unknown): boolean {
  const { stop_reason: reason } = Object(message) as Fields;
  return typeof reason === 'string' && reason !== '';
}

/**
 * Reads usage, text and the end from the events of a stream. Unknown events pass; a ping passes too, since it may come
 * before the first block.
 */
export class EventReader extends StreamMeter implements StreamReader {
  readonly #progress = new MessageProgress();
  #end: Buffer = stopFrame;

  read(frame: Buffer): FrameKind {
    assertReadable(frame);
    const event = eventOf(frame);
    if (event === null) return 'other';
    const { type, fields, error } = event;
    if (error !== null) return this.failed(error);
    this.#progress.add(event);
    switch (type) {
      case 'message_start':
        // It is kept until the first block comes.
        if (frame.length > maxHeadBytes) throw new Error('the start of the message is too large');
        this.#readStart(fields['message']);
        return 'chunk';
      case 'content_block_start':
        this.begun = true;
        this.#addContent([fields['content_block']]);
        return 'chunk';
      case 'content_block_delta':
        this.begun = true;
        this.#addDelta(Object(fields['delta']) as Fields);
        return 'chunk';
      case 'message_delta':
        this.begun = true;
        this.callsTools ||= callsTools(fields['delta']);
        return 'chunk';
      case 'message_stop':
        this.#end = frame;
        return 'done';
      default:
        return type === '' ? 'foreign' : 'chunk';
    }
  }

  get complete(): boolean {
    return this.#progress.hasStopped;
  }

  get awaitsUsage(): boolean {
    return this.#progress.awaitsUsage;
  }

  get usage(): Usage | null {
    return readUsage(this.#progress.usage);
  }

  get serviceTier(): string | null {
    return readServiceTier({ usage: this.#progress.usage });
  }

  /** The provider's own end, held until the run has ended. */
  endFrames(): Buffer[] {
    return [this.#end];
  }

  #readStart(message: unknown): void {
    if (!isFields(message)) return;
    const { model, content } = message;
    this.addModel(model);
    this.#addContent(content);
  }

  #addContent(content: unknown): void {
    this.addText(contentText(content), spokenText(content));
  }

  #addDelta({ text, thinking, partial_json: json }: Fields): void {
    for (const piece of [thinking, json]) if (typeof piece === 'string') this.addText(piece);
    if (typeof text === 'string') this.addText(text, text);
  }
}
