import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { sealedColumns, type SealedTable } from './sealed-column.ts';

/** A row of any tenant with its encrypted secret. */
export interface SealedRow {
  tenantId: string;
  table: SealedTable;
  id: string;
  sealed: Buffer;
}

/** Up to `limit` rows whose secrets do not begin with `prefix`, at random. `pool` acts as `agent_system`. */
export async function findStale(
  pool: Pool,
  table: SealedTable,
  prefix: Buffer,
  limit: number,
): Promise<SealedRow[]> {
  const column = sealedColumns[table];
  const { rows } = await pool.query<SealedRow>(
    `select tenant_id as "tenantId", $3 as "table", id, ${column} as sealed from agent.${table}
     where substring(${column} from 1 for length($1::bytea)) <> $1 order by random() limit $2`,
    [prefix, limit, table],
  );
  return rows;
}

/** The secrets of each table that begin with `prefix`. `pool` acts as `agent_system`. */
export async function countSealed(
  pool: Pool,
  prefix: Buffer,
): Promise<{ table: SealedTable; count: number }[]> {
  const { rows } = await pool.query<{ table: SealedTable; count: number }>(
    Object.entries(sealedColumns)
      .map(
        ([table, column]) => `select '${table}' as "table", count(*)::integer as count from agent.${table}
          where substring(${column} from 1 for length($1::bytea)) = $1`,
      )
      .join(' union all '),
    [prefix],
  );
  return rows;
}

/** Replaces a secret that has not changed meanwhile. `pool` acts as `agent_app`. */
export async function replaceSealed(
  pool: Pool,
  { tenantId, table, id, sealed }: SealedRow,
  again: Buffer,
): Promise<void> {
  const column = sealedColumns[table];
  await withTenant(pool, tenantId, (db) =>
    db.query(`update agent.${table} set ${column} = $3 where id = $1 and ${column} = $2`, [
      id,
      sealed,
      again,
    ]),
  );
}
