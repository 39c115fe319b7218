import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { NewSignature } from '../providers/signature-origins.ts';

/** The origins of those signatures of a tenant that are known. */
export async function findOrigins(
  pool: Pool,
  tenantId: string,
  digests: readonly Buffer[],
): Promise<NewSignature[]> {
  const { rows } = await withTenant(pool, tenantId, (db) =>
    db.query<NewSignature>(
      `select found.digest, found.maker as origin from unnest($2::bytea[]) as asked (digest)
     cross join lateral (
       select digest, maker from chat.seals
       where tenant_id = $1 and digest = asked.digest and expires_at > now() limit 1
     ) found`,
      [tenantId, digests],
    ),
  );
  return rows;
}
