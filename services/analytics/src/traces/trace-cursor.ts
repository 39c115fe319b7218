import { createHash } from 'node:crypto';
import { AppError } from '@gatehouse/kit/errors';
import { z } from 'zod';

/** Behind which change a follower goes on. */
export interface Position {
  /** Id of the transaction that made the change. */
  transaction: bigint;
  /** Its number among all changes. */
  number: bigint;
}

const integer = (bits: number) =>
  z
    .string()
    .regex(/^\d{1,20}$/)
    .refine((text) => BigInt(text) < 2n ** BigInt(bits));
const shape = z.strictObject({
  v: z.literal(1),
  /** The PostgreSQL cluster that transaction ids are counted by. */
  c: integer(64),
  t: integer(64),
  n: integer(63),
  f: z.string(),
});

/** What a cursor holds for besides its position. */
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
    throw new AppError('cursor_mismatch', 'The cursor was given out for other filters.', { param: 'cursor' });
  if (cursor.c !== scope.cluster)
    throw new AppError(
      'cursor_expired',
      'The cursor is of a database that was replaced. Start without one.',
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
    throw new AppError('invalid_cursor', 'The cursor is not one that this list gave out.', {
      param: 'cursor',
      cause: error,
    });
  }
}

function fingerprint(filters: CursorScope['filters']): string {
  const set = Object.entries(filters).filter(([, value]) => value !== undefined && value !== null);
  const text = JSON.stringify(set.sort(([a], [b]) => (a < b ? -1 : 1)));
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}
