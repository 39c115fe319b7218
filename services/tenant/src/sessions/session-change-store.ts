import { auditEntryOf, type Circumstances } from '@gatehouse/audited-changes/audit-entry';
import type { RecordChange } from '@gatehouse/audited-changes/changes';
import { AppError } from '@gatehouse/kit/errors';
import { retryAfterHeaders } from '@gatehouse/kit/retry-after';
import { withTenant, withTransaction, type Pool, type Queryable } from '@gatehouse/pg/pool';
import {
  countNewSessions,
  endOldestSessions,
  endSession,
  insertSession,
  lockSessions,
} from './session-statements.ts';
import { loginsPerMinute, sessionChange, type From, type NewSession, type Session } from './session.ts';

export interface SessionChangeOptions {
  /** Pools of `tenant_app` and `tenant_system`. */
  app: Pool;
  system: Pool;
  record: RecordChange;
}

/** Opens and ends sessions by requests without a key, with their entries in the audit log. */
export class SessionChangeStore {
  readonly #options: SessionChangeOptions;

  constructor(options: SessionChangeOptions) {
    this.#options = options;
  }

  /** Throws `rate_limit_exceeded` if the key was used for too many logins. */
  async open(session: NewSession, from: From): Promise<Session> {
    return this.#change(session.tenantId, async (db) => {
      await lockSessions(db, session.tenantId);
      if ((await countNewSessions(db, session.keyId)) >= loginsPerMinute)
        throw new AppError(
          'rate_limit_exceeded',
          `A key logs in ${loginsPerMinute} times a minute at most.`,
          {
            headers: retryAfterHeaders(60_000),
          },
        );
      const by = circumstancesOf(session, from);
      for (const ended of await endOldestSessions(db, session))
        await this.#options.record(db, auditEntryOf(sessionChange('session.ended', ended), by));
      const opened = await insertSession(db, session);
      await this.#options.record(db, auditEntryOf(sessionChange('session.created', opened), by));
      return opened;
    });
  }

  /** Ends the session of a browser. */
  async end({ id, tenantId }: Pick<Session, 'id' | 'tenantId'>, from: From): Promise<void> {
    await this.#change(tenantId, async (db) => {
      const ended = await endSession(db, id);
      if (ended === null) return;
      const by = circumstancesOf(ended, from);
      await this.#options.record(db, auditEntryOf(sessionChange('session.ended', ended), by));
    });
  }

  #change<Result>(tenantId: string | null, work: (db: Queryable) => Promise<Result>): Promise<Result> {
    const { app, system } = this.#options;
    return tenantId === null ? withTransaction(system, work) : withTenant(app, tenantId, work);
  }
}

function circumstancesOf(
  { keyId, role, userId, tenantId }: Pick<NewSession, 'keyId' | 'role' | 'userId' | 'tenantId'>,
  from: From,
): Circumstances {
  return { ...from, tenantId, actor: { key_id: keyId, role, user_id: userId } };
}
