import { plainArray } from '@gatehouse/pg/arrays';
import type { Pool } from '@gatehouse/pg/pool';
import type { WaitingRequest } from './provider-turns.ts';
import { maxWaitingProviders, tenantsAtOnce } from '../bounds.ts';

/** Work at providers waiting in tables, for tenants taking turns. */

const waitingRows = { batches: 'ended_at is null', files: 'deleted_at is not null' } as const;

export type WaitingTable = keyof typeof waitingRows;

/** The providers at which rows wait. */
export async function waitingProviders(pool: Pool, table: WaitingTable): Promise<string[]> {
  const waiting = waitingRows[table];
  const { rows } = await pool.query<{ provider: string }>(
    `with recursive providers as (
       (select provider, 1 as place from chat.${table} where ${waiting} order by provider limit 1)
       union all
       select n.provider, place + 1 from providers p cross join lateral (
         select provider from chat.${table} where ${waiting} and provider > p.provider order by provider limit 1) n
       where place < ${maxWaitingProviders}
     )
     select provider from providers`,
  );
  return rows.map(({ provider }) => provider);
}

/**
 * The next tenants with waiting rows at a provider behind `after`, and of each the row due for the longest time, if one
 * is.
 */
export function waitingTenants(
  pool: Pool,
  table: WaitingTable,
  { provider, after, busy }: { provider: string; after: string; busy: readonly string[] },
): Promise<WaitingRequest[]> {
  const waiting = waitingRows[table];
  return pool.all<WaitingRequest>(
    `with recursive tenants as (
       (select tenant_id, 1 as place from chat.${table} where ${waiting} and provider = $1 and tenant_id > $2
        order by tenant_id limit 1)
       union all
       select n.tenant_id, place + 1 from tenants t cross join lateral (
         select tenant_id from chat.${table} where ${waiting} and provider = $1 and tenant_id > t.tenant_id
         order by tenant_id limit 1) n
       where place < ${tenantsAtOnce}
     )
     select t.tenant_id as "tenantId", d.id from tenants t left join lateral (
       select id from chat.${table}
       where ${waiting} and provider = $1 and tenant_id = t.tenant_id and due_at <= now()
         and tenant_id <> all ($3::uuid[])
       order by due_at limit 1) d on true
     order by t.tenant_id`,
    [provider, after, plainArray(busy)],
  );
}
