import { auditEntryOf, type Change, type Circumstances } from '@gatehouse/audited-changes/audit-entry';
import type { RecordChange } from '@gatehouse/audited-changes/changes';
import { batchedFinder } from '@gatehouse/kit/batched';
import { AppError, assertTenantActive } from '@gatehouse/kit/errors';
import { inTurn, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { hourMs } from '@gatehouse/kit/bounds';
import { leastRenewalSeconds } from '../bounds.ts';
import type { ApiKey } from '../keys/api-key.ts';
import { revokeApiKey } from '../keys/api-key-store.ts';
import { keyCreated, keyRevoked, keyRotated } from '../keys/key-views.ts';
import type { From } from '../sessions/session.ts';
import { bySystem } from '../by-system.ts';
import {
  endOldestProgramKeys,
  findReplaced,
  insertProgramKey,
  isReused,
  lockConfirmingKey,
  renewProgramKey,
  takeConfirmation,
  wasRenewedLately,
  type NewProgramKey,
  type ProgramKey,
} from './program-key-store.ts';

export const oldProgramKeys: OldRows = {
  ...{ table: 'tenant.api_keys', key: 'id', skipLocked: true, everyMs: hourMs },
  where: `confirmed_by is not null and expires_at < now() - interval '30 days'`,
};

/** A key or login, with its tenant; null for owners. */
interface TenantProgramKey {
  id: string;
  tenantId: string | null;
}

type Actor = Pick<Circumstances, 'actor' | 'tenantId'>;

/** Keys that people have given to programs, of all tenants and of owners, with their entries in the audit log. */
export class ProgramKeySystemStore extends Store {
  readonly #record: RecordChange;
  readonly #findReplaced = batchedFinder(
    (texts) =>
      findReplaced(
        this.pool,
        texts.map((text) => ({ id: text.slice(0, 36), hash: text.slice(37) })),
      ),
    ({ id, hash }) => `${id} ${hash}`,
  );

  /** `pool` acts as `tenant_system`. */
  constructor(pool: Pool, record: RecordChange) {
    super(pool);
    this.#record = record;
  }

  /**
   * Makes the key of an allowed login, once. Null when it was made, or the login or the key of its session has ended.
   * Throws `tenant_suspended`.
   */
  async issue(login: TenantProgramKey, key: NewProgramKey, from: From): Promise<ProgramKey | null> {
    return this.#inTurn(login, async (db) => {
      const confirmation = await takeConfirmation(db, login.id);
      if (confirmation === null) return null;
      assertTenantActive(confirmation.tenantStatus);
      const ended = await endOldestProgramKeys(db, confirmation.keyId);
      const made = await insertProgramKey(db, key, confirmation);
      if (made === null) return null;
      await this.#note(db, [...ended.flatMap(keyRevoked), keyCreated(made)], actorOf(made), from);
      return made;
    });
  }

  /**
   * Renews the key of a program, which has or had a secret with the hash `givenSha256`. Null when it or the key of the
   * session that confirmed it has ended. A secret that was renewed before ends the key: the client or a thief has a later
   * one. Throws `tenant_suspended`, and `rate_limit_exceeded` for a key that was renewed lately.
   */
  async renew(
    key: Omit<NewProgramKey, 'keyId'> & TenantProgramKey,
    presentedSha256: Buffer,
    from: From,
  ): Promise<ProgramKey | 'reused' | null> {
    return this.#inTurn(key, async (db) => {
      // In the order in which a revocation locks them.
      const confirming = await lockConfirmingKey(db, key.id);
      if (confirming === null) return null;
      assertTenantActive(confirming.tenantStatus);
      if (await isReused(db, key.id, presentedSha256)) {
        await this.#revoke(db, key.id, from, bySystem.actor);
        return 'reused';
      }
      if (await wasRenewedLately(db, key.id))
        throw new AppError('rate_limit_exceeded', 'A key is renewed once a minute at most.', {
          retryAfterMs: leastRenewalSeconds * 1_000,
        });
      const changed = await renewProgramKey(db, key, presentedSha256);
      if (changed === null) return null;
      await this.#note(db, [keyRotated(changed)], actorOf(changed.after), from);
      return changed.after;
    });
  }

  async revoke(key: TenantProgramKey, from: From): Promise<void> {
    await this.#inTurn(key, (db) => this.#revoke(db, key.id, from));
  }

  /** Whether the key of a program had a secret before a renewal. One statement for all that ask meanwhile. */
  async wasReplaced(id: string, secretSha256: Buffer): Promise<boolean> {
    return (await this.#findReplaced(`${id} ${secretSha256.toString('hex')}`)) !== null;
  }

  /** A valid key may be sent any number of times, so tenants take turns. */
  #inTurn<Result>({ tenantId }: TenantProgramKey, work: (db: Queryable) => Promise<Result>): Promise<Result> {
    return inTurn(this.pool, tenantId ?? 'owners', work);
  }

  /** `actor`: by default, the key whose session confirmed that of the program. */
  async #revoke(db: Queryable, id: string, from: From, actor?: Circumstances['actor']): Promise<void> {
    const changed = await revokeApiKey(db, id);
    if (changed === null) return;
    const by = actor === undefined ? actorOf(changed.after) : { actor, tenantId: changed.after.tenantId };
    await this.#note(db, keyRevoked(changed), by, from);
  }

  async #note(db: Queryable, changes: readonly Change[], actor: Actor, from: From): Promise<void> {
    for (const change of changes) await this.#record(db, auditEntryOf(change, { ...from, ...actor }));
  }
}

/** The key whose session confirmed that of the program. */
function actorOf({ createdBy, tenantId, role, userId }: ApiKey): Actor {
  return { tenantId, actor: { key_id: createdBy, role, user_id: userId } };
}
