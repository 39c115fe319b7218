import { AppError } from '@gatehouse/kit/errors';
import { z } from 'zod';
import { fingerprint, type CursorScope } from './trace-cursor.ts';

/** The place in a list of traces after which its next page begins. */
export interface ListPosition {
  /** The value that the list is ordered by, as PostgreSQL writes it: a time, an amount or a duration. */
  key: string;
  id: string;
}

/** A position, and the period of the first page, which is the same for all pages. */
export interface ListPlace {
  position: ListPosition;
  from: Date;
  to: Date;
}

const key = z.string().regex(/^(\d{1,38}|\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z)$/);
const shape = z.strictObject({
  v: z.literal(1),
  k: key,
  i: z.uuid(),
  a: z.int().min(0),
  b: z.int().min(0),
  f: z.string(),
});

export function encodeListCursor({ position, from, to }: ListPlace, filters: CursorScope['filters']): string {
  const cursor: z.output<typeof shape> = {
    ...{ v: 1, k: position.key, i: position.id },
    ...{ a: from.getTime(), b: to.getTime(), f: fingerprint(filters) },
  };
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

/** Throws `invalid_cursor`, or `cursor_mismatch` for other filters, another order or another viewer. */
export function decodeListCursor(text: string, filters: CursorScope['filters']): ListPlace {
  const cursor = parse(text);
  if (cursor.f !== fingerprint(filters))
    throw new AppError('cursor_mismatch', 'The cursor belongs to a request with other filters.', {
      param: 'cursor',
    });
  const { k, i, a, b } = cursor;
  return { position: { key: k, id: i }, from: new Date(a), to: new Date(b) };
}

function parse(text: string): z.output<typeof shape> {
  try {
    return shape.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
  } catch (error) {
    throw new AppError('invalid_cursor', 'The cursor is not from this list.', {
      param: 'cursor',
      cause: error,
    });
  }
}
