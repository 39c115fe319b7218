import { AppError } from '@gatehouse/kit/errors';
import { isUniqueViolation } from '@gatehouse/pg/errors';
import type { Queryable } from '@gatehouse/pg/pool';
import type { TransferItem } from '../transfer.ts';

/**
 * Statements on transferred rows, in tables with the columns `id` and `locked_by`. `table` is a table with its schema.
 * They reach rows of the transaction's tenant.
 */

/** The SQL expression for the revision of a row: a hash of the part a transfer would bring to its target. */
export function revisionHash(part: string): string {
  return `encode(sha256(convert_to(${part}::text, 'UTF8')), 'hex')`;
}

/** Throws `resource_locked` while a transfer keeps the row as it is. */
export async function assertUnlocked(db: Queryable, table: string, id: string): Promise<void> {
  const rows = await db.all(`select from ${table} where id = $1 and locked_by is not null`, [id]);
  if (rows.length > 0) throw locked();
}

/**
 * Keeps rows as they are. `revision` is the expression over a row `r` to be compared with the value of the preview.
 * Throws `resource_locked` for another transfer, and `preview_stale` for changed rows.
 */
export async function lockRows(
  db: Queryable,
  { table, revision }: { table: string; revision: string },
  items: readonly TransferItem[],
  transferId: string,
): Promise<void> {
  const ids = items.map(({ id }) => id);
  const rows = await db.all<{ id: string; revision: string; lockedBy: string | null }>(
    `select id, ${revision} as revision, locked_by as "lockedBy" from ${table} as r
     where id = any ($1) order by id for update`,
    [ids],
  );
  for (const { id, name, revision: known } of items) {
    const row = rows.find((each) => each.id === id);
    if (row !== undefined && row.lockedBy !== null && row.lockedBy !== transferId) throw locked();
    if (row?.revision !== known) throw stale(`${name} has changed since the preview.`);
  }
  await db.query(`update ${table} set locked_by = $2 where id = any ($1)`, [ids, transferId]);
}

/** Keeps rows of the target as they are, which it uses in place of some of the source's. Throws as `lockRows`. */
export async function keepRows(
  db: Queryable,
  table: string,
  ids: readonly string[],
  transferId: string,
): Promise<void> {
  const rows = await db.all<{ lockedBy: string | null }>(
    `select locked_by as "lockedBy" from ${table} where id = any ($1) order by id for update`,
    [ids],
  );
  if (rows.length !== ids.length) throw stale('The target does not have a resource any more.');
  if (rows.some(({ lockedBy }) => lockedBy !== null && lockedBy !== transferId)) throw locked();
  await db.query(`update ${table} set locked_by = $2 where id = any ($1)`, [ids, transferId]);
}

export async function unlockRows(db: Queryable, table: string, transferId: string): Promise<void> {
  await db.query(`update ${table} set locked_by = null where locked_by = $1`, [transferId]);
}

/**
 * A row by its columns, each as PostgreSQL writes it: no parser has touched its numbers, or texts valid only for
 * `json`.
 */
export type RowTexts = Readonly<Record<string, string | null>>;

export async function readRow(db: Queryable, table: string, id: string): Promise<RowTexts> {
  const columns = await columnsOf(db, table);
  const row = await db.first<Record<string, string | null>>(
    `select ${columns.map(({ name }) => `${name}::text`).join(', ')} from ${table} where id = $1`,
    [id],
  );
  if (row === null) throw stale('A resource does not exist any more.');
  return row;
}

/** Inserts a row of `readRow` with other values. Throws `preview_stale` if it violates one of the constraints. */
export async function insertRow(
  db: Queryable,
  table: string,
  row: RowTexts,
  { others, names = [] }: { others: Record<string, unknown>; names?: readonly string[] },
): Promise<void> {
  const columns = await columnsOf(db, table);
  const values = columns.map(({ name }) => textOf(Object.hasOwn(others, name) ? others[name] : row[name]));
  await db
    .query(
      `insert into ${table} (${columns.map(({ name }) => name).join(', ')})
       values (${columns.map(({ type }, index) => `$${index + 1}::text::${type}`).join(', ')})`,
      values,
    )
    .catch((error: unknown) => {
      if (names.some((name) => isUniqueViolation(error, name)))
        throw stale('A name is taken in the target since the preview.');
      throw error;
    });
}

/**
 * The result of `open`, which decrypts. Throws `secret_unreadable` if it can't: the error ends a transfer before it
 * takes effect.
 */
export function decrypted<Plain>(open: () => Plain): Plain {
  try {
    return open();
  } catch (error) {
    throw new AppError('secret_unreadable', 'A secret of one of the resources can no longer be decrypted.', {
      cause: error,
    });
  }
}

/** Bytes as `insertRow` takes them. */
export function hex(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}

/** Bytes of a row of `readRow`. */
export function unhex(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex');
}

async function columnsOf(db: Queryable, table: string): Promise<{ name: string; type: string }[]> {
  return db.all<{ name: string; type: string }>(
    `select quote_ident(attname) as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [table],
  );
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function locked(): AppError {
  return new AppError(
    'resource_locked',
    'A transfer to another tenant uses it. Try again when that has ended.',
    { headers: { 'retry-after': '5' } },
  );
}

function stale(message: string): AppError {
  return new AppError('preview_stale', message);
}
