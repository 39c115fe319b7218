import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { parsePublicError, publicErrorIn } from '../provider-errors.ts';
import { frameData, frameEvent } from '../wire/sse-frames.ts';

/** An event of a stream. */
export interface ResponseEvent {
  type: string;
  fields: Fields;
}

/**
 * The event in a frame; null for a comment, an empty frame, or the end as some servers write it, like that of chat
 * completions. Its type stands in its data, or else is its name. Throws if the data is no JSON object.
 */
export function eventOf(frame: Buffer): ResponseEvent | null {
  const data = frameData(frame);
  if (data === null || data === '' || data === '[DONE]') return null;
  const name = frameEvent(frame);
  const fields: unknown = JSON.parse(data);
  if (!isFields(fields)) throw new Error('an event of the stream is not an object');
  const { type } = fields;
  return { type: typeof type === 'string' ? type : (name ?? ''), fields };
}

/** `write`: for fields with JSON texts in them. */
export function frameOf(
  fields: Fields & { type: string },
  write: (fields: Fields) => string = JSON.stringify,
): Buffer {
  return Buffer.from(`event: ${fields.type}\ndata: ${write(fields)}\n\n`);
}

/** The response in an event with one. */
export function responseIn({ response }: Fields): Fields {
  return isFields(response) ? response : {};
}

/** The error in an event. Events of the output and those with the response have no other error. */
export function eventError({ type, fields }: ResponseEvent): ProviderError | null {
  if (type === 'error') return parsePublicError(fields);
  if (type === 'response.failed') return parsePublicError(responseIn(fields));
  const isOfOutput = type.startsWith('response.') && indexOf(fields) !== null;
  return isOfOutput || isHead(type) || isEnd(type) ? null : publicErrorIn(fields);
}

/** The error of a unary response. A failed one may lack its reason. */
export function responseError(response: Fields): ProviderError | null {
  return publicErrorIn(response) ?? (response['status'] === 'failed' ? {} : null);
}

/** The place of an item in the output. */
export function indexOf({ output_index: index }: Fields): number | null {
  return typeof index === 'number' && Number.isInteger(index) && index >= 0 ? index : null;
}

/** Whether an event is the beginning of a response, before anything of its output. */
export function isHead(type: string): boolean {
  return type === 'response.created' || type === 'response.in_progress' || type === 'response.queued';
}

/** Whether an event is the end of a response shown as it is. */
export function isEnd(type: string): boolean {
  return type === 'response.completed' || type === 'response.incomplete';
}

/** Whether a response may be complete behind an event: it ends a part or an item other than a thought. */
export function mayEndBehind({ type, fields }: ResponseEvent): boolean {
  const { type: ended } = Object(fields['item'] ?? fields['part']) as Fields;
  return /^response\.(?!reasoning).*\.done$/.test(type) && !/^reasoning/.test(String(ended));
}
