import type { Change } from '@gatehouse/audited-changes/audit-entry';
import type { ScimListQuery, ScimQuery } from '@gatehouse/contract/scim';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { isUuid } from '@gatehouse/kit/ids';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { maxShownMembers } from '../bounds.ts';
import { showGroup } from '../users/user-views.ts';
import type { Condition } from './scim-filter.ts';
import { groupFromBody, patchOf, type GroupChange } from './scim-group.ts';
import { changeScimGroup, createScimGroup, deleteScimGroup } from './scim-group-change-store.ts';
import {
  countScimGroups,
  groupByExternalId,
  groupById,
  groupByName,
  groupsWithMember,
  scimGroups,
  scimMembersOf,
  type StoredGroup,
} from './scim-group-store.ts';
import { resourceReply, searchReply, type ScimDependencies } from './scim-reply.ts';
import { operationsOf, wrong } from './scim-values.ts';
import { chosenOf, isChosen, locationOf, showScimGroup, type Chosen, type Resource } from './scim-view.ts';

const what = 'group';

type GroupCall = Call<unknown, ScimQuery>;

/** `/scim/v2/Groups`. */
export function scimGroupHandlers({ app, changes }: ScimDependencies): Record<string, Handler> {
  const change = async (db: Queryable, call: GroupCall, changeOf: GroupChange) => {
    const { tenantId } = tenantOf(call);
    const id = resourceId(call.params, what);
    return orNotFound(await changeScimGroup(db, { tenantId, id, change: changeOf }), what);
  };
  return {
    'scim.groups.search': (call: Call<unknown, ScimListQuery>) => {
      const { tenantId } = tenantOf(call);
      const { query } = call;
      return withTenant(app, tenantId, (db) =>
        searchReply(query, {
          matching: (conditions) => groupsWith(db, tenantId, conditions),
          count: () => countScimGroups(db, tenantId),
          page: (page) => scimGroups(db, { tenantId, ...page }),
          show: (rows) => resourcesOf(db, rows, query),
        }),
      );
    },

    'scim.groups.get': (call: GroupCall) => {
      const { tenantId } = tenantOf(call);
      const id = resourceId(call.params, what);
      return withTenant(app, tenantId, async (db) => {
        const group = orNotFound(await groupById(db, tenantId, id), what);
        const [body] = await resourcesOf(db, [group], call.query);
        return resourceReply(body);
      });
    },

    'scim.groups.create': (call: GroupCall) =>
      changes.change(call, async (db) => {
        const { tenantId } = tenantOf(call);
        const { before, after } = await createScimGroup(db, tenantId, groupFromBody(call.body));
        const { body, headers } = resourceReply((await resourcesOf(db, [after], call.query))[0]);
        return {
          ...{ body, headers: { ...headers, location: locationOf('Groups', after.id) } },
          changes: [groupAudit({ before, after })],
        };
      }),

    'scim.groups.put': (call: GroupCall) =>
      changes.change(call, async (db) => {
        const both = await change(db, call, groupFromBody(call.body));
        const [body] = await resourcesOf(db, [both.after], call.query);
        return { ...resourceReply(body), changes: [groupAudit(both)] };
      }),

    'scim.groups.patch': (call: GroupCall) =>
      changes.change(call, async (db) => ({
        changes: [groupAudit(await change(db, call, patchOf(operationsOf(call.body))))],
      })),

    'scim.groups.delete': (call: GroupCall) =>
      changes.change(call, async (db) => {
        const { tenantId } = tenantOf(call);
        const group = orNotFound(await deleteScimGroup(db, tenantId, resourceId(call.params, what)), what);
        return { changes: [groupAudit({ before: group, after: null })] };
      }),
  };
}

function groupAudit({ before, after }: Record<'before' | 'after', StoredGroup | null>): Change {
  const verb = before === null ? 'created' : after === null ? 'deleted' : 'updated';
  return {
    action: `group.${verb}`,
    id: (after ?? before)?.id ?? '',
    before: before && showGroup(before),
    after: after && showGroup(after),
  };
}

/** Groups with the chosen attributes, as many as their members fit into an answer, but the first one anyway. */
async function resourcesOf(
  db: Queryable,
  groups: readonly StoredGroup[],
  chosen: Chosen,
): Promise<Resource[]> {
  if (!isChosen('members', chosen)) return groups.map((group) => chosenOf(showScimGroup(group, []), chosen));
  const fitting = fittingOf(groups);
  const ids = fitting.map(({ id }) => id);
  const members = await scimMembersOf(db, ids, maxShownMembers);
  return fitting.map((group) => chosenOf(showScimGroup(group, members.get(group.id) ?? []), chosen));
}

function fittingOf(groups: readonly StoredGroup[]): StoredGroup[] {
  const fitting: StoredGroup[] = [];
  let members = 0;
  for (const group of groups) {
    members += group.members;
    if (members > maxShownMembers && fitting.length > 0) break;
    fitting.push(group);
  }
  return fitting;
}

/** The groups with all values of a filter. Throws a 400 for other attributes. */
async function groupsWith(
  db: Queryable,
  tenantId: string,
  conditions: readonly Condition[],
): Promise<StoredGroup[]> {
  const [first, ...others] = conditions;
  if (first === undefined || !conditions.every(isFilter))
    throw wrong('filter', 'Filters of groups may have id, externalId, displayName and members.');
  let groups = await groupsOf(db, tenantId, first);
  for (const condition of others) {
    const ids = new Set((await groupsOf(db, tenantId, condition)).map(({ id }) => id));
    groups = groups.filter(({ id }) => ids.has(id));
  }
  return groups;
}

const attributes: ReadonlySet<string> = new Set(['id', 'externalid', 'displayname', 'members']);

function isFilter({ attribute, sub, where }: Condition): boolean {
  const hasSub = attribute === 'members' && sub === 'value';
  return attributes.has(attribute) && where.length === 0 && (sub === null || hasSub);
}

/** The groups known to SCIM with one value: those of a member, else one at most. */
async function groupsOf(
  db: Queryable,
  tenantId: string,
  { attribute, value }: Condition,
): Promise<StoredGroup[]> {
  if (typeof value !== 'string' || value.includes('\0') || !value.isWellFormed()) return [];
  if (attribute === 'members') return isUuid(value) ? groupsWithMember(db, value) : [];
  if (attribute === 'id' && !isUuid(value)) return [];
  const group =
    attribute === 'id'
      ? await groupById(db, tenantId, value)
      : attribute === 'externalid'
        ? await groupByExternalId(db, tenantId, value)
        : await groupByName(db, tenantId, value);
  return group?.isScim === true ? [group] : [];
}
