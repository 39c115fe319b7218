import type { ScimListQuery, ScimQuery } from '@gatehouse/contract/scim';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { isUuid } from '@gatehouse/kit/ids';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { maxFound } from '../bounds.ts';
import { foldedName, type ChangedUser, type User } from '../users/user.ts';
import { userAudit } from '../users/user-views.ts';
import type { Condition } from './scim-filter.ts';
import { resourceReply, searchReply, type ScimDependencies } from './scim-reply.ts';
import { changeScimUser, createScimUser, deleteScimUser } from './scim-user-change-store.ts';
import {
  countScimUsers,
  scimGroupsOf,
  scimUserById,
  scimUsers,
  scimUsersByDisplayName,
  scimUsersByEmail,
  scimUsersByName,
} from './scim-user-store.ts';
import { patchedUser, scimUserOf, userFromBody, userMatches, type ScimUser } from './scim-user.ts';
import { operationsOf, wrong } from './scim-values.ts';
import { chosenOf, isChosen, locationOf, showScimUser, type Chosen, type Resource } from './scim-view.ts';

const what = 'user';

type UserCall = Call<unknown, ScimQuery>;

/** `/scim/v2/Users`. */
export function scimUserHandlers({ app, keyRing, changes }: ScimDependencies): Record<string, Handler> {
  const changed = async (db: Queryable, call: UserCall, both: ChangedUser) => {
    const [body] = await resourcesOf(db, [both.after], call.query);
    return { ...resourceReply(body), changes: [userAudit(keyRing, tenantOf(call).tenantId).changed(both)] };
  };
  const change = (call: UserCall, changeOf: (before: ScimUser) => ScimUser) =>
    changes.change(call, async (db) => {
      const { tenantId } = tenantOf(call);
      const id = resourceId(call.params, what);
      const both = await changeScimUser(db, keyRing, {
        ...{ tenantId, id },
        change: (before) => changeOf(orNotFound(scimUserOf(before), what)),
      });
      return changed(db, call, orNotFound(both, what));
    });
  return {
    'scim.users.search': (call: Call<unknown, ScimListQuery>) => {
      const { tenantId } = tenantOf(call);
      const { query } = call;
      return withTenant(app, tenantId, (db) =>
        searchReply(query, {
          matching: (conditions) => usersWith(db, tenantId, conditions),
          count: () => countScimUsers(db, tenantId),
          page: (page) => scimUsers(db, { tenantId, ...page }),
          show: (rows) => resourcesOf(db, rows, query),
        }),
      );
    },

    'scim.users.get': (call: UserCall) => {
      const { tenantId } = tenantOf(call);
      const id = resourceId(call.params, what);
      return withTenant(app, tenantId, async (db) => {
        const user = orNotFound(await scimUserById(db, tenantId, id), what);
        const [body] = await resourcesOf(db, [user], call.query);
        return resourceReply(body);
      });
    },

    'scim.users.create': (call: UserCall) =>
      changes.change(call, async (db) => {
        const { tenantId } = tenantOf(call);
        const user = userFromBody(call.body, null);
        const reply = await changed(db, call, await createScimUser(db, keyRing, { tenantId, user }));
        const location = locationOf('Users', String(reply.body?.['id']));
        return { ...reply, headers: { ...reply.headers, location } };
      }),

    'scim.users.put': (call: UserCall) => change(call, (before) => userFromBody(call.body, before)),

    'scim.users.patch': (call: UserCall) => {
      const operations = operationsOf(call.body);
      return change(call, (before) => patchedUser(before, operations));
    },

    'scim.users.delete': (call: UserCall) =>
      changes.change(call, async (db) => {
        const { tenantId } = tenantOf(call);
        const id = resourceId(call.params, what);
        return { changes: orNotFound(await deleteScimUser(db, keyRing, { tenantId, id }), what) };
      }),
  };
}

/** Users with the chosen attributes. */
async function resourcesOf(db: Queryable, users: readonly User[], chosen: Chosen): Promise<Resource[]> {
  const ids = isChosen('groups', chosen) ? users.map(({ id }) => id) : [];
  const groups = ids.length === 0 ? null : await scimGroupsOf(db, ids);
  return users.map((user) => chosenOf(showScimUser(user, groups?.get(user.id) ?? []), chosen));
}

/** The look-ups of attributes, the narrowest first. */
const lookUps: Readonly<
  Record<string, (db: Queryable, tenantId: string, value: string) => Promise<readonly User[]>>
> = {
  id: async (db, tenantId, value) => {
    const user = isUuid(value) ? await scimUserById(db, tenantId, value) : null;
    return user === null ? [] : [user];
  },
  username: (db, tenantId, value) => scimUsersByName(db, tenantId, foldedName(value)),
  externalid: (db, tenantId, value) => scimUsersByName(db, tenantId, foldedName(value)),
  emails: (db, tenantId, value) =>
    scimUsersByEmail(db, { tenantId, folded: value.toLowerCase(), limit: maxFound + 1 }),
  displayname: (db, tenantId, value) =>
    scimUsersByDisplayName(db, { tenantId, name: value, limit: maxFound + 1 }),
};

/** The users with all values of a filter. Throws a 400 for other attributes. */
async function usersWith(
  db: Queryable,
  tenantId: string,
  conditions: readonly Condition[],
): Promise<readonly User[]> {
  if (!conditions.every(isFilter))
    throw wrong(
      'filter',
      'Filters of users may have id, userName, externalId, displayName and emails[type eq "work"].value.',
    );
  for (const [attribute, lookUp] of Object.entries(lookUps)) {
    const condition = conditions.find((each) => each.attribute === attribute);
    if (condition === undefined) continue;
    const { value } = condition;
    if (typeof value !== 'string' || value.includes('\0') || !value.isWellFormed()) return [];
    const users = await lookUp(db, tenantId, value);
    if (users.length > maxFound) throw wrong('results', `More than ${maxFound} users have this value.`);
    return users.filter((user) => conditions.every((each) => userMatches(user, each)));
  }
  return [];
}

function isFilter({ attribute, sub, where }: Condition): boolean {
  if (attribute !== 'emails') return Object.hasOwn(lookUps, attribute) && sub === null && where.length === 0;
  const isWork = where.every((each) => each.attribute === 'type' && each.value === 'work');
  return isWork && (sub === null || sub === 'value');
}
