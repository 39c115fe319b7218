import { isFields, type Fields } from '@gatehouse/kit/fields';
import { writeJson } from '../wire/json-text.ts';
import { frameData, frameEvent } from '../wire/sse-frames.ts';

/** An event of a stream. */
export interface MessageEvent {
  type: string;
  fields: Fields;
}

/**
 * The event in a frame; null for a comment or an empty frame. Its type stands in its data, and is its name where that
 * lacks it. Throws if the data is no JSON object.
 */
export function eventOf(frame: Buffer): MessageEvent | null {
  const data = frameData(frame);
  if (data === null || data === '') return null;
  const name = frameEvent(frame);
  const fields: unknown = JSON.parse(data);
  if (!isFields(fields)) throw new Error('an event of the stream is not an object');
  const { type } = fields;
  return { type: typeof type === 'string' ? type : (name ?? ''), fields };
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
export function isThought(block: unknown): boolean {
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
