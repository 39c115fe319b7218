import { foldedGroup } from '@gatehouse/kit/folded-group';
import type { Queryable } from '@gatehouse/pg/pool';
import type { Selection } from './selection.ts';

/** The names of a group before and after a change. */
interface RenamedGroup {
  tenantId: string;
  before: string;
  after: string;
}

/**
 * Has policies, overrides and guardrails name a group as it is called now. An override in force for the group replaces
 * one that waited for the new name. The connection acts as `tenant_app`.
 */
export async function followRenamedGroup(db: Queryable, renamed: RenamedGroup): Promise<void> {
  const [from, to] = [foldedGroup(renamed.before), foldedGroup(renamed.after)];
  // Locked before the overrides, as by other changes of these.
  await renameSelected(db, 'policies', renamed);
  await renameSelected(db, 'guardrails', renamed);
  if (from !== to) await renameOverrides(db, { tenantId: renamed.tenantId, from, to });
}

async function renameSelected(
  db: Queryable,
  table: 'policies' | 'guardrails',
  { tenantId, before, after }: RenamedGroup,
): Promise<void> {
  const from = foldedGroup(before);
  const rows = await db.all<{ id: string; selection: Selection }>(
    `select id, selection from tenant.${table} where tenant_id = $1 order by id for update`,
    [tenantId],
  );
  for (const { id, selection } of rows) {
    const { groups = [] } = selection;
    if (!groups.some((name) => foldedGroup(name) === from)) continue;
    const renamed = groups.map((name) => (foldedGroup(name) === from ? after : name));
    const byFolded = new Map(renamed.map((name) => [foldedGroup(name), name]));
    await db.query(`update tenant.${table} set selection = $2, updated_at = now() where id = $1`, [
      id,
      { ...selection, groups: [...byFolded.values()] },
    ]);
  }
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
    `with ${naming} update tenant.policy_overrides o set value = n.prefix || $3, label = null, updated_at = now() from naming n
     where o.policy_id = n.id and o.value = n.prefix || $2`,
    [tenantId, from, to],
  );
}
