import { foldedGroup } from '@gatehouse/kit/folded-group';
import type { Queryable } from '@gatehouse/pg/pool';
import type { Policy } from './policy.ts';

/** The names of a group before and after a change. */
interface RenamedGroup {
  tenantId: string;
  before: string;
  after: string;
}

/**
 * Has policies and overrides name a group as it is called now. An override in force for the group replaces one that
 * waited for the new name. The connection acts as `tenant_app`.
 */
export async function followRenamedGroup(
  db: Queryable,
  { tenantId, before, after }: RenamedGroup,
): Promise<void> {
  const [from, to] = [foldedGroup(before), foldedGroup(after)];
  // Locked before the overrides, as by other changes of these.
  const policies = await db.all<Pick<Policy, 'id' | 'selection'>>(
    'select id, selection from tenant.policies where tenant_id = $1 order by id for update',
    [tenantId],
  );
  for (const { id, selection } of policies) {
    const { groups = [] } = selection;
    if (!groups.some((name) => foldedGroup(name) === from)) continue;
    const renamed = groups.map((name) => (foldedGroup(name) === from ? after : name));
    const byFolded = new Map(renamed.map((name) => [foldedGroup(name), name]));
    await db.query('update tenant.policies set selection = $2, updated_at = now() where id = $1', [
      id,
      { ...selection, groups: [...byFolded.values()] },
    ]);
  }
  if (from !== to) await renameOverrides(db, { tenantId, from, to });
}

/** The policies whose overrides may name groups, and the text before the names. */
const naming = `naming as (
  select id, case per when 'user' then 'group:' else '' end as prefix from tenant.policies
  where tenant_id = $1 and per in ('user', 'group'))`;

async function renameOverrides(
  db: Queryable,
  { tenantId, from, to }: { tenantId: string; from: string; to: string },
): Promise<void> {
  await db.query(
    `with ${naming} delete from tenant.policy_overrides o using naming n
     where o.policy_id = n.id and o.value = n.prefix || $3 and exists (
       select from tenant.policy_overrides where policy_id = n.id and value = n.prefix || $2)`,
    [tenantId, from, to],
  );
  await db.query(
    `with ${naming} update tenant.policy_overrides o set value = n.prefix || $3, updated_at = now() from naming n
     where o.policy_id = n.id and o.value = n.prefix || $2`,
    [tenantId, from, to],
  );
}
