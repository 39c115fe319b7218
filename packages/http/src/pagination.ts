import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';

/** One page of a list in the contract's shape. */
export interface Page<Item> {
  data: Item[];
  has_more: boolean;
  next_cursor: string | null;
}

/**
 * Lists run from the newest id to the oldest and a cursor is the last id seen, so that inserts never shift a page.
 * Stores fetch `limit + 1` rows; the extra one only tells that there is more.
 */
export function pageOf<Row extends { id: string }, Item>(
  rows: Row[],
  limit: number,
  show: (row: Row) => Item,
): Page<Item> {
  const kept = rows.slice(0, limit);
  const last = kept.at(-1);
  const hasMore = rows.length > limit;
  return {
    data: kept.map(show),
    has_more: hasMore,
    next_cursor: hasMore && last !== undefined ? encodeCursor(last.id) : null,
  };
}

export function encodeCursor(id: string): string {
  return Buffer.from(JSON.stringify({ v: 1, before: id })).toString('base64url');
}

/** The id to continue below, or null for the first page. Throws `invalid_cursor`. */
export function decodeCursor(cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  try {
    const decoded = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as {
      v?: unknown;
      before?: unknown;
    };
    if (decoded.v === 1 && typeof decoded.before === 'string' && isUuid(decoded.before))
      return decoded.before;
  } catch {
    // Falls through: whatever it was, it is not one of our cursors.
  }
  throw new AppError('invalid_cursor', 'The cursor is not one that this list gave out.', { param: 'cursor' });
}
