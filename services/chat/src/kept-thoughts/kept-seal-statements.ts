import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { MadeSeal } from '../providers/run-seals.ts';

/** The makers of those seals of a tenant that are known. */
export async function findSealMakers(
  pool: Pool,
  tenantId: string,
  digests: readonly Buffer[],
): Promise<MadeSeal[]> {
  const { rows } = await withTenant(pool, tenantId, (db) =>
    db.query<MadeSeal>(
      `select found.digest, found.maker from unnest($2::bytea[]) as asked (digest)
     cross join lateral (
       select digest, maker from chat.seals
       where tenant_id = $1 and digest = asked.digest and expires_at > now() limit 1
     ) found`,
      [tenantId, digests],
    ),
  );
  return rows;
}
