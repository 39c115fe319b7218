import type { Queryable } from '@gatehouse/pg/pool';

/** The rows of a tenant so far. Others that count the same wait until the transaction ends. */
export async function lockAndCount(
  db: Queryable,
  table: 'webhook.endpoints' | 'webhook.subscriptions' | 'webhook.channel_instances',
  tenantId: string,
): Promise<number> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`${table} ${tenantId}`]);
  return (
    await db.one<{ count: number }>(
      `select count(*)::integer as count from ${table} where tenant_id = $1 ${table === 'webhook.subscriptions' ? '' : 'and deleted_at is null'}`,
      [tenantId],
    )
  ).count;
}
