import { z } from 'zod';

/** CloudEvents 1.0 in JSON format, structured mode: https://github.com/cloudevents/spec */

export const contentType = 'application/cloudevents+json';

/** Maximum size of an event in bytes, for publishing and reading. Kafka brokers accept 1 MiB by default. */
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
  /** Unique within the source, for consumers to drop duplicates. */
  id: string;
  source: string;
  type: string;
  time: string;
  subject: string;
  /** Events with the same key keep their order (CloudEvents partitioning extension). */
  partitionkey: string;
  data: object;
}

/** Serializes an event as JSON. */
export function writeEvent({ data, ...attributes }: EventFields): string {
  return withData(attributes, JSON.stringify(data));
}

/** Like `writeEvent`, for data in JSON text already. */
export function withData(attributes: Omit<EventFields, 'data'>, data: string): string {
  const head = JSON.stringify({ specversion: '1.0', ...attributes, datacontenttype: 'application/json' });
  return `${head.slice(0, -1)},"data":${data}}`;
}

/** Parses a CloudEvent. Throws with the reason when it is invalid. */
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

/** Parses a value. Throws with the reason and the path, without the value, which may contain a prompt. */
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
