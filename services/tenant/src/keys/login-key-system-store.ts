import { isDeepStrictEqual } from 'node:util';
import { auditEntryOf, type Change, type Circumstances } from '@gatehouse/audited-changes/audit-entry';
import type { RecordChange } from '@gatehouse/audited-changes/changes';
import { inTenantOrder, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { turnOfPerson, type Person, includeRights, type ProgramRights, type Rights } from './api-key.ts';
import { findLoginKeys, lockApiKey, revokeApiKey, setProgramRights, type LoginKey } from './api-key-store.ts';
import { keyRevoked, keyUpdated } from './key-views.ts';

/**
 * Revokes a person's keys, in all tenants, if they have rights beyond the person's present ones. Their sessions end. A
 * key with fewer scopes stays: a release with a new scope for a role ends no session. Toolsets and settings of the
 * remaining keys become the present ones. `pool` acts as `tenant_system`; people take turns at it.
 */
export function keepOnlyRights(pool: Pool, record: RecordChange) {
  return async (
    person: Person,
    rights: readonly Rights[],
    from: Pick<Circumstances, 'clientIp' | 'requestId'>,
  ): Promise<void> => {
    const turn = turnOfPerson(person);
    for (const { id, tenantId, role, userId, ...key } of await findKeys(pool, person)) {
      const right = rights.find((each) => includeRights(each, { tenantId, role, userId, ...key }));
      if (right !== undefined && isDeepStrictEqual(programRightsOf(right), programRightsOf(key))) continue;
      await inTenantOrder(pool, turn, async (db) => {
        const by = { ...from, tenantId, actor: { key_id: id, role, user_id: userId } };
        for (const change of await (right === undefined ? revoke(db, id) : align(db, id, right)))
          await record(db, auditEntryOf(change, by));
      });
    }
  };
}

async function revoke(db: Queryable, id: string): Promise<Change[]> {
  const changed = await revokeApiKey(db, id);
  return changed === null ? [] : keyRevoked(changed);
}

/** Gives a key the toolsets and settings of the present rights. */
async function align(db: Queryable, id: string, right: Rights): Promise<Change[]> {
  const before = await lockApiKey(db, id);
  const after = await setProgramRights(db, id, right);
  return before === null || after === null ? [] : [keyUpdated({ before, after })];
}

function programRightsOf({ toolsets, clientSettings }: ProgramRights): ProgramRights {
  return { toolsets, clientSettings };
}

/** Whether a person has keys with rights beyond these, in any tenant. */
export function hasKeysBeyond(pool: Pool) {
  return async (person: Person, rights: readonly Rights[]): Promise<boolean> =>
    (await findKeysBeyond(pool, person, rights)).length > 0;
}

function findKeys(pool: Pool, person: Person): Promise<LoginKey[]> {
  return inTenantOrder(pool, turnOfPerson(person), (db) => findLoginKeys(db, person));
}

async function findKeysBeyond(pool: Pool, person: Person, rights: readonly Rights[]): Promise<LoginKey[]> {
  return (await findKeys(pool, person)).filter((key) => !rights.some((right) => includeRights(right, key)));
}
