import { createHash } from 'node:crypto';
import { AppError } from '@gatehouse/kit/errors';
import { z } from 'zod';

/** The change after which a follower continues. */
export interface Position {
  /** Id of the transaction of the change. */
  transaction: bigint;
  /** The number of the change among all changes. */
  number: bigint;
}

/** The position after a change. */
export function positionAfter(row: { change_transaction: string; change_number: string }): Position {
  return { transaction: BigInt(row.change_transaction), number: BigInt(row.change_number) };
}

const integer = (bits: number) =>
  z
    .string()
    .regex(/^\d{1,20}$/)
    .refine((text) => BigInt(text) < 2n ** BigInt(bits));
const shape = z.strictObject({
  v: z.literal(1),
  /** The PostgreSQL cluster the transaction id belongs to. */
  c: integer(64),
  t: integer(64),
  n: integer(63),
  f: z.string(),
});

/** The conditions under which a cursor is valid. */
export interface CursorScope {
  cluster: string;
  /** The viewer and the filters of the request. */
  filters: Readonly<Record<string, string | null | undefined>>;
}

export function encodeCursor(position: Position, scope: CursorScope): string {
  const { transaction, number } = position;
  const cursor: z.output<typeof shape> = {
    v: 1,
    c: scope.cluster,
    t: String(transaction),
    n: String(number),
    f: fingerprint(scope.filters),
  };
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

/** Throws `invalid_cursor`, `cursor_mismatch` (other filters) or `cursor_expired` (another database cluster). */
export function decodeCursor(text: string, scope: CursorScope): Position {
  const cursor = parse(text);
  if (cursor.f !== fingerprint(scope.filters))
    throw new AppError('cursor_mismatch', 'The cursor belongs to a request with other filters.', {
      param: 'cursor',
    });
  if (cursor.c !== scope.cluster)
    throw new AppError(
      'cursor_expired',
      'The cursor is from a database that was replaced. Start without a cursor.',
      {
        param: 'cursor',
      },
    );
  return { transaction: BigInt(cursor.t), number: BigInt(cursor.n) };
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

/** Identifies the viewer and the filters that a cursor is for. */
export function fingerprint(filters: CursorScope['filters']): string {
  const set = Object.entries(filters).filter(([, value]) => value !== undefined && value !== null);
  const text = JSON.stringify(set.sort(([a], [b]) => (a < b ? -1 : 1)));
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}
