import { AppError } from '@gatehouse/kit/errors';
import { z } from 'zod';
import { maxPeriodMs } from '../usage/period.ts';
import { fingerprint, type CursorScope } from './trace-cursor.ts';

/** The place in a list of traces after which its next page begins. */
export interface ListPosition {
  /** The value that the list is ordered by, as PostgreSQL writes it: a time, an amount or a duration. */
  key: string;
  id: string;
}

/** The place after a run. */
export function positionOf({ list_key: key, id }: { list_key: string; id: string }): ListPosition {
  return { key, id };
}

/** A position, and the period of the first page, which is the same for all pages. */
export interface ListPlace {
  position: ListPosition;
  from: Date;
  to: Date;
}

/** The keys of each order. A duration is an integer of PostgreSQL. */
const keys = {
  started_at: z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/)
    .refine(isTime),
  cost: z.string().regex(/^\d{1,38}$/),
  duration: z
    .string()
    .regex(/^\d{1,10}$/)
    .refine((text) => Number(text) < 2 ** 31),
};
type Sort = keyof typeof keys;

/** Rejects days beyond the end of their month, which `Date` reads as days of the next one. */
function isTime(text: string): boolean {
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.toISOString().slice(0, 19) === text.slice(0, 19);
}

/** The last time with four digits of its year in `toISOString`. */
const lastMs = Date.parse('9999-12-31T23:59:59.999Z');
const time = z.int().min(0).max(lastMs);
const shape = z
  .strictObject({ v: z.literal(1), k: z.string(), i: z.uuid(), a: time, b: time, f: z.string() })
  .refine(({ a, b }) => a < b && b - a <= maxPeriodMs);
type Cursor = z.output<typeof shape>;

export function encodeListCursor({ position, from, to }: ListPlace, filters: CursorScope['filters']): string {
  const cursor: Cursor = {
    ...{ v: 1, k: position.key, i: position.id },
    ...{ a: from.getTime(), b: to.getTime(), f: fingerprint(filters) },
  };
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

/** Throws `invalid_cursor`, or `cursor_mismatch` for other filters, another order or another viewer. */
export function decodeListCursor(
  text: string,
  filters: CursorScope['filters'],
  sort: Sort = 'started_at',
): ListPlace {
  const cursor = parse(() => shape.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))));
  if (cursor.f !== fingerprint(filters))
    throw new AppError('cursor_mismatch', 'The cursor belongs to a request with other filters.', {
      param: 'cursor',
    });
  const { k, i, a, b } = cursor;
  return { position: { key: parse(() => keys[sort].parse(k)), id: i }, from: new Date(a), to: new Date(b) };
}

function parse<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw new AppError('invalid_cursor', 'The cursor is not from this list.', {
      param: 'cursor',
      cause: error,
    });
  }
}
