import { z } from 'zod';

/** CloudEvents 1.0, JSON format, structured mode: https://github.com/cloudevents/spec */

export const contentType = 'application/cloudevents+json';

/** The largest event that is published or read, in bytes; brokers take a mebibyte by default. */
export const maxEventBytes = 1_000_000;

const envelope = z.object({
  specversion: z.literal('1.0'),
  id: z.string().min(1),
  source: z.string().min(1),
  type: z.string().min(1),
  data: z.unknown(),
});
export type CloudEvent = z.output<typeof envelope>;

export interface EventFields {
  /** Unique within the source: a consumer that has seen it may drop it. */
  id: string;
  source: string;
  type: string;
  time: string;
  subject: string;
  /** Events of one key keep their order (CloudEvents partitioning extension). */
  partitionkey: string;
  data: object;
}

/** The event as JSON text. */
export function writeEvent({ data, ...attributes }: EventFields): string {
  return withData(attributes, JSON.stringify(data));
}

/** The same of data that is JSON text already. */
export function withData(attributes: Omit<EventFields, 'data'>, data: string): string {
  const head = JSON.stringify({ specversion: '1.0', ...attributes, datacontenttype: 'application/json' });
  return `${head.slice(0, -1)},"data":${data}}`;
}

/** Throws with a reason in words when it is no CloudEvent. */
export function readEvent(text: string): CloudEvent {
  if (Buffer.byteLength(text) > maxEventBytes) throw new Error(`larger than ${maxEventBytes} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('not JSON');
  }
  return parseShape(envelope, value, 'not a CloudEvent');
}

/** The value in its shape. Throws with what is wrong and where, without the value itself: it may hold a prompt. */
export function parseShape<Shape extends z.ZodType>(
  shape: Shape,
  value: unknown,
  what: string,
): z.output<Shape> {
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${what}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`);
}
