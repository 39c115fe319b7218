import type { NewAuditEntry } from '@gatehouse/contract/audit';
import { replyStatus, tenantOf, type Call } from '@gatehouse/http/app';
import type { Reply } from '@gatehouse/http/reply';
import { withTenant, withTransaction, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { Logger } from '@gatehouse/kit/log';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { auditEntryOf, type Change, type Circumstances } from './audit-entry.ts';
import { Idempotency } from './idempotency.ts';

/** The reply to a request and its changes. */
export interface ChangeOutcome extends Reply {
  changes: readonly Change[];
}

/** Parts of a request recorded with its change. */
export type ChangeCall = Pick<Call, 'route' | 'principal' | 'clientIp' | 'requestId' | 'claim'> &
  Partial<Pick<Call, 'dryRun'>>;

/** Stores an audit entry in the transaction of its change. */
export type RecordChange = (db: Queryable, entry: NewAuditEntry) => Promise<void>;

export interface ChangesOptions {
  /** The schema; it must have a table `idempotency_records`. */
  service: string;
  /** A pool of `<service>_app`, for changes of one tenant. */
  app: Pool;
  /** A pool of `<service>_system`, for changes by owners. */
  system: Pool;
  keyRing: KeyRing;
  record: RecordChange;
  log: Logger;
}

/**
 * Executes administrative changes. Each is one transaction with its effect, its audit entries (with the outbox rows to
 * publish them) and the stored response for repeats with the same `Idempotency-Key`.
 */
export class Changes {
  readonly #options: ChangesOptions;
  /** Recognizes repeated requests. Pass it to the app, and start and stop it with the service. */
  readonly idempotency: Idempotency;

  constructor(options: ChangesOptions) {
    this.#options = options;
    this.idempotency = new Idempotency(options);
  }

  /**
   * Runs `work` in a transaction. It sees the rows of the caller's tenant or, for an owner, of all tenants. Commits the
   * effect, the changes and the reply together. Rolls back if `work` throws, and in a dry run: effects outside the
   * database belong in `afterCommit`.
   */
  async change(call: ChangeCall, work: (db: Queryable) => Promise<ChangeOutcome>): Promise<Reply> {
    const { app, system } = this.#options;
    const whole = (db: Queryable): Promise<Reply> => this.#commit(call, db, work);
    const { access } = call.route;
    const isOfOwner =
      access.kind === 'owner' ||
      (call.principal.role === 'owner' &&
        (access.kind === 'key' || (access.kind === 'scope' && access.owners === true)));
    const committed = isOfOwner
      ? withTransaction(system, whole)
      : withTenant(app, tenantOf(call).tenantId, whole);
    return committed.catch(replyOfDryRun);
  }

  /** Stores the audit entry of a change not made by a request with a key, in its transaction. */
  async record(db: Queryable, change: Change, circumstances: Circumstances): Promise<void> {
    await this.#options.record(db, auditEntryOf(change, circumstances));
  }

  async #commit(
    call: ChangeCall,
    db: Queryable,
    work: (db: Queryable) => Promise<ChangeOutcome>,
  ): Promise<Reply> {
    const { changes, ...reply } = await work(db);
    if (call.dryRun === true) throw new DryRun(reply);
    const { principal, clientIp, requestId, claim } = call;
    const actor = { key_id: principal.keyId, role: principal.role, user_id: principal.userId };
    const circumstances = { actor, tenantId: principal.tenantId, clientIp, requestId };
    for (const change of changes) await this.#options.record(db, auditEntryOf(change, circumstances));
    if (claim !== null)
      await this.idempotency.store(db, claim, { ...reply, status: replyStatus(reply, call.route) });
    return reply;
  }
}

/** Thrown to roll back the transaction of a dry run. */
class DryRun extends Error {
  readonly reply: Reply;

  constructor(reply: Reply) {
    super('dry run');
    this.reply = reply;
  }
}

function replyOfDryRun(error: unknown): Reply {
  if (error instanceof DryRun) return error.reply;
  throw error;
}
