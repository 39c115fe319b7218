import type { PageRows } from '@gatehouse/kit/page';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { readEntries, type AuditFilter, type StoredEntry } from './audit-log-store.ts';

/** The log of one tenant at a time. */
export class TenantAuditLogStore {
  readonly #pool: Pool;

  /** `pool` acts as `tenant_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Newest first. */
  async list(filter: AuditFilter & { tenantId: string }): Promise<PageRows<StoredEntry>> {
    return withTenant(this.#pool, filter.tenantId, (db) => readEntries(db, filter));
  }
}
