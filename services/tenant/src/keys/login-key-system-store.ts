import { auditEntryOf, type Circumstances } from '@gatehouse/audited-changes/audit-entry';
import type { RecordChange } from '@gatehouse/audited-changes/changes';
import { inTenantOrder, type Pool } from '@gatehouse/pg/pool';
import { turnOfPerson, type Person, includeRights, type Rights } from './api-key.ts';
import { revokeApiKey, findLoginKeys } from './api-key-store.ts';
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
    for (const key of await inTenantOrder(pool, turn, (db) => findLoginKeys(db, person))) {
      if (rights.some((right) => includeRights(right, key))) continue;
      const { id, tenantId, role, userId } = key;
      await inTenantOrder(pool, turn, async (db) => {
        const changed = await revokeApiKey(db, id);
        const by = { ...from, tenantId, actor: { key_id: id, role, user_id: userId } };
        for (const change of changed === null ? [] : keyRevoked(changed))
          await record(db, auditEntryOf(change, by));
      });
    }
  };
}
