import type { PageRequest } from '@gatehouse/kit/page';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { hasItsKey } from '../keys/api-key-statements.ts';
import { listSessionsOfKey, sessionColumns } from './session-statements.ts';
import type { Session } from './session.ts';

/** The open sessions of one tenant at a time. */
export class SessionStore {
  readonly #pool: Pool;

  /** `pool` acts as `tenant_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Those that were opened with a key, newest first, one more than `limit` when there are more. */
  async listOfKey(tenantId: string, keyId: string, page: PageRequest): Promise<Session[]> {
    return withTenant(this.#pool, tenantId, (db) => listSessionsOfKey(db, keyId, page));
  }

  /** Newest first, one more than `limit` when there are more. */
  async list(tenantId: string, page: PageRequest): Promise<Session[]> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<Session>(
        `select ${sessionColumns} from tenant.sessions
           cross join lateral (
             select from tenant.api_keys
             where id = sessions.key_id and ${hasItsKey} limit 1) as key
         where sessions.tenant_id = $1 and ($2::uuid is null or sessions.id < $2) and sessions.ends_at > now()
         order by sessions.id desc limit $3`,
        [tenantId, page.before, page.limit + 1],
      );
      return rows;
    });
  }
}
