import type { Pool } from '@gatehouse/pg/pool';
import { tenantDb } from '@gatehouse/pg/store';

/** The stored content of a run. */
export interface ContentRow {
  user_id: string | null;
  /** Encrypted. */
  content: Buffer;
}

/** The content of a run of the tenant, no older than `days`; null if there is none. */
export function findContent(
  pool: Pool,
  id: string,
  { tenantId, days }: { tenantId: string; days: number },
): Promise<ContentRow | null> {
  return tenantDb(pool, tenantId).first<ContentRow>(
    `select user_id, content from chat.run_contents
     where id = $1 and tenant_id = $2 and expires_at > now() and created_at > now() - make_interval(days => $3)`,
    [id, tenantId, days],
  );
}
