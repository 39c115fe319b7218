import type { Pool } from '@gatehouse/pg/pool';
import type { SecretPlace } from '../secrets/webhook-secrets.ts';

/** The columns with secrets, of each table. */
const columnsOf = {
  endpoints: ['secret', 'previous_secret', 'callback_secret'],
  subscriptions: ['secret'],
  channel_instances: ['credentials', 'access_token', 'refresh_token'],
} as const;

/** An encrypted secret of any tenant. */
export interface SealedSecret {
  tenantId: string;
  table: SecretPlace['table'];
  column: (typeof columnsOf)[SecretPlace['table']][number];
  id: string;
  sealed: Buffer;
}

/**
 * Up to `limit` secrets of each column that don't begin with `prefix`, at random, so that some that can't be opened keep
 * no others from being found. `pool` acts as `webhook_system`.
 */
export async function findStaleSecrets(pool: Pool, prefix: Buffer, limit: number): Promise<SealedSecret[]> {
  const columns = (['endpoints', 'subscriptions', 'channel_instances'] as const).flatMap((table) =>
    columnsOf[table].map((column) => ({ table, column })),
  );
  const { rows } = await pool.query<SealedSecret>(
    columns
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
