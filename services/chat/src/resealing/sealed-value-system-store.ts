import { plainArray } from '@gatehouse/pg/arrays';
import type { Pool } from '@gatehouse/pg/pool';
import { headBytes } from '@gatehouse/secrets/key-ring';

/** Columns with sealed values that live longer than a day. */
export const sealedColumns = [
  { table: 'responses', column: 'content' },
  { table: 'files', column: 'content' },
  { table: 'batches', column: 'content' },
  { table: 'batches', column: 'first_id' },
] as const;

/** A value of any tenant, by its beginning. */
export interface SealedValue {
  table: (typeof sealedColumns)[number]['table'];
  column: (typeof sealedColumns)[number]['column'];
  id: string;
  tenantId: string;
  userId: string | null;
  sealed: Buffer;
}

/** An index of each column has this. */
function isSealedBy({ table, column }: (typeof sealedColumns)[number], parameter: string): string {
  const present = column === 'first_id' ? ' and first_id is not null' : '';
  return `from chat.${table} where chat.sealed_by(${column}) = ${parameter}${present}`;
}

/** Up to `limit` values of each column that begin with one of these, except the ones with these ids. */
export async function findSealed(
  pool: Pool,
  { prefixes, except, limit }: { prefixes: readonly Buffer[]; except: readonly string[]; limit: number },
): Promise<SealedValue[]> {
  const found: SealedValue[] = [];
  for (const place of sealedColumns)
    for (const prefix of prefixes) {
      const { table, column } = place;
      const { rows } = await pool.query<Omit<SealedValue, 'table' | 'column'>>(
        `select id, tenant_id as "tenantId", user_id as "userId", substring(${column} from 1 for ${headBytes}) as sealed
         ${isSealedBy(place, '$1::bytea')} and id <> all ($2::uuid[]) order by id limit $3`,
        [prefix, plainArray(except), limit],
      );
      found.push(...rows.map((row) => ({ ...row, table, column })));
    }
  return found;
}

/** Replaces the beginning of a value that has not changed meanwhile. */
export async function replaceHead(
  pool: Pool,
  { table, column, id, sealed }: SealedValue,
  { head, replacedBytes }: { head: Buffer; replacedBytes: number },
): Promise<void> {
  await pool.query(
    `update chat.${table} set ${column} = $3::bytea || substring(${column} from $4::integer + 1)
     where id = $1 and substring(${column} from 1 for $4::integer) = $2`,
    [id, sealed.subarray(0, replacedBytes), head, replacedBytes],
  );
}

/** The values of each table that begin with `prefix`. */
export async function countSealed(
  pool: Pool,
  prefix: Buffer,
): Promise<{ table: SealedValue['table']; count: number }[]> {
  const counts = new Map<SealedValue['table'], number>();
  for (const place of sealedColumns) {
    const { rows } = await pool.query<{ count: number }>(
      `select count(*)::integer as count ${isSealedBy(place, '$1::bytea')}`,
      [prefix],
    );
    counts.set(place.table, (counts.get(place.table) ?? 0) + (rows[0]?.count ?? 0));
  }
  return [...counts].map(([table, count]) => ({ table, count }));
}
