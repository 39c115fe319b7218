import type { NewAuditEntry } from '@gatehouse/contract/audit';
import { replyStatus, type Call } from '@gatehouse/http/app';
import type { Reply } from '@gatehouse/http/reply';
import { withTenant, withTransaction, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { Logger } from '@gatehouse/kit/log';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { auditEntryOf, type Change } from './audit-entry.ts';
import { Idempotency } from './idempotency.ts';

/** The reply to a request that changed something, and what it changed. */
export interface Outcome extends Reply {
  changes: readonly Change[];
}

/** Stores an audit entry, in the transaction of its change. */
export type RecordChange = (db: Queryable, entry: NewAuditEntry) => Promise<void>;

export interface ChangesOptions {
  /** The schema, which has a table `idempotency_records`. */
  service: string;
  /** Acts as `<service>_app`: changes of one tenant. */
  app: Pool;
  /** Acts as `<service>_system`: changes by owners. */
  system: Pool;
  keyRing: KeyRing;
  record: RecordChange;
  log: Logger;
}

/**
 * Administrative changes. Each is one transaction: its effect, its audit entries (and with them the outbox rows that
 * publish these), and the answer for repeats with the same `Idempotency-Key`. So all of it happens, or none.
 */
export class Changes {
  readonly #options: ChangesOptions;
  /** Recognises repeats; to be given to the app, and started and stopped with the service. */
  readonly idempotency: Idempotency;

  constructor(options: ChangesOptions) {
    this.#options = options;
    this.idempotency = new Idempotency(options);
  }

  /**
   * Runs `work` in a transaction that sees the rows of the caller's tenant, or for an owner those of all tenants, and
   * commits what it returns with it. A throw undoes everything.
   */
  async change(call: Call, work: (db: Queryable) => Promise<Outcome>): Promise<Reply> {
    const { app, system } = this.#options;
    const { tenantId } = call.principal;
    const whole = (db: Queryable): Promise<Reply> => this.#commit(call, db, work);
    return tenantId === null ? withTransaction(system, whole) : withTenant(app, tenantId, whole);
  }

  async #commit(call: Call, db: Queryable, work: (db: Queryable) => Promise<Outcome>): Promise<Reply> {
    const { changes, ...reply } = await work(db);
    const { principal, clientIp, requestId, claim } = call;
    const actor = { key_id: principal.keyId, role: principal.role, user_id: principal.actingUser };
    const circumstances = { actor, tenantId: principal.tenantId, clientIp, requestId };
    for (const change of changes) await this.#options.record(db, auditEntryOf(change, circumstances));
    if (claim !== null)
      await this.idempotency.store(db, claim, { ...reply, status: replyStatus(reply, call.route) });
    return reply;
  }
}
