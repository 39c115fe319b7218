import { cacheKey } from '@gatehouse/kit/cache-key';
import { foldedGroup } from '@gatehouse/kit/folded-group';
import { parsePattern } from '@gatehouse/kit/name-pattern';
import { groupEntry, groupNameEntry } from '@gatehouse/kit/selection-index';
import type { Pool } from '@gatehouse/pg/pool';
import type { Selection } from './selection.ts';

interface Selecting {
  tenantId: string;
  selection: Selection;
}

/**
 * Has selections name existing groups by their ids, which stay when they get other names. `pool` acts as
 * `tenant_system`.
 */
export async function withGroupIds<Item extends Selecting>(
  pool: Pool,
  items: readonly Item[],
): Promise<Item[]> {
  const names = items.flatMap(({ tenantId, selection }) =>
    (selection.groups ?? [])
      .filter((name) => parsePattern(name) === null)
      .map((name) => ({ tenantId, folded: foldedGroup(name) })),
  );
  const ids = await groupIds(pool, names);
  return items.map((item) => {
    const { groups, ...others } = item.selection;
    if (groups === undefined) return item;
    const entries = groups.map((name) => {
      const id = ids.get(cacheKey(item.tenantId, foldedGroup(name)));
      return id === undefined ? groupNameEntry(name) : groupEntry(id);
    });
    return { ...item, selection: { ...others, groups: entries } };
  });
}

async function groupIds(
  pool: Pool,
  names: readonly { tenantId: string; folded: string }[],
): Promise<Map<string, string>> {
  if (names.length === 0) return new Map();
  const rows = await pool.all<{ tenantId: string; folded: string; id: string }>({
    name: 'find_selected_groups',
    text: `select n.tenant_id as "tenantId", n.folded, g.id
      from unnest($1::uuid[], $2::text[]) as n (tenant_id, folded) cross join lateral (
        select id from tenant.groups where tenant_id = n.tenant_id and folded = n.folded limit 1) g`,
    values: [names.map(({ tenantId }) => tenantId), names.map(({ folded }) => folded)],
  });
  return new Map(rows.map(({ tenantId, folded, id }) => [cacheKey(tenantId, folded), id]));
}
