import { auditEntryOf, type Circumstances } from '@gatehouse/audited-changes/audit-entry';
import type { RecordChange } from '@gatehouse/audited-changes/changes';
import { inTenantOrder, type Pool } from '@gatehouse/pg/pool';
import { turnOfPerson, type Person, includeRights, type Rights } from './api-key.ts';
import { revokeApiKey, findLoginKeys, type LoginKey } from './api-key-store.ts';
import { keyRevoked } from './key-views.ts';

/**
 * Revokes a person's keys, in all tenants, if they have rights beyond the person's present ones. Their sessions end. A
 * key with fewer scopes stays: a release with a new scope for a role ends no session. `pool` acts as `tenant_system`;
 * people take turns at it.
 */
export function keepOnlyRights(pool: Pool, record: RecordChange) {
  return async (
    person: Person,
    rights: readonly Rights[],
    from: Pick<Circumstances, 'clientIp' | 'requestId'>,
  ): Promise<void> => {
    const turn = turnOfPerson(person);
    for (const { id, tenantId, role, userId } of await findKeysBeyond(pool, person, rights)) {
      await inTenantOrder(pool, turn, async (db) => {
        const changed = await revokeApiKey(db, id);
        const by = { ...from, tenantId, actor: { key_id: id, role, user_id: userId } };
        for (const change of changed === null ? [] : keyRevoked(changed))
          await record(db, auditEntryOf(change, by));
      });
    }
  };
}

/** Whether a person has keys with rights beyond these, in any tenant. */
export function hasKeysBeyond(pool: Pool) {
  return async (person: Person, rights: readonly Rights[]): Promise<boolean> =>
    (await findKeysBeyond(pool, person, rights)).length > 0;
}

async function findKeysBeyond(pool: Pool, person: Person, rights: readonly Rights[]): Promise<LoginKey[]> {
  const keys = await inTenantOrder(pool, turnOfPerson(person), (db) => findLoginKeys(db, person));
  return keys.filter((key) => !rights.some((right) => includeRights(right, key)));
}
