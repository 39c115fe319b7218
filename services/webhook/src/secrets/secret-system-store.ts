import type { Pool } from '@gatehouse/pg/pool';
import { hasExpired, replacedTables } from './rotation-statements.ts';
import { columnsOf, type SealedSecret } from './sealed-secret.ts';

const secretColumns = (['endpoints', 'subscriptions', 'channel_instances'] as const).flatMap((table) =>
  columnsOf[table].map((column) => ({ table, column })),
);

/**
 * Up to `limit` secrets of each column that don't begin with `prefix`, at random, so that some that can't be opened keep
 * no others from being found. `pool` acts as `webhook_system`.
 */
export async function findStaleSecrets(pool: Pool, prefix: Buffer, limit: number): Promise<SealedSecret[]> {
  const { rows } = await pool.query<SealedSecret>(
    secretColumns
      .map(
        ({ table, column }) => `
          (select tenant_id as "tenantId", '${table}' as "table", '${column}' as "column", id, ${column} as sealed
           from webhook.${table} where substring(${column} from 1 for length($1::bytea)) <> $1
           order by random() limit $2)`,
      )
      .join(' union all '),
    [prefix, limit],
  );
  return rows;
}

/** The secrets of each table that begin with `prefix`. `pool` acts as `webhook_system`. */
export async function countSealedSecrets(
  pool: Pool,
  prefix: Buffer,
): Promise<{ table: string; count: number }[]> {
  const { rows } = await pool.query<{ table: string; count: number }>(
    `select "table", sum(count)::integer as count from (${secretColumns
      .map(
        ({ table, column }) => `select '${table}' as "table", count(*) as count from webhook.${table}
          where substring(${column} from 1 for length($1::bytea)) = $1`,
      )
      .join(' union all ')}) as counted group by "table"`,
    [prefix],
  );
  return rows;
}

/** Up to `limit` rows of each table, of any tenant, with replaced secrets that are no longer used. */
export async function findExpiredSecrets(
  pool: Pool,
  limit: number,
): Promise<Pick<SealedSecret, 'tenantId' | 'table' | 'id'>[]> {
  const { rows } = await pool.query<Pick<SealedSecret, 'tenantId' | 'table' | 'id'>>(
    replacedTables
      .map(
        (table) => `(select tenant_id as "tenantId", '${table}' as "table", id from webhook.${table}
          where ${hasExpired(table)} limit $1)`,
      )
      .join(' union all '),
    [limit],
  );
  return rows;
}
