import { z } from 'zod';
import { count, listOf, page, setOf, storableText, userId, utcTime, uuid, visibleText } from './fields.ts';
import {
  accepted,
  noContent,
  ok,
  pageOf,
  pick,
  routesWith,
  scope,
  type Access,
  type Route,
} from './route.ts';

/** Users and groups: `/v1/users*` and `/v1/groups`. */

export const userStatus = z.enum(['active', 'blocked']);

/** The name of a group of users. */
export const groupName = visibleText(1, 256, 'must have a visible character');

export const user = z.strictObject({
  user_id: z.string().describe('Never changes'),
  aliases: setOf(z.string()).describe('Further names of the user. Requests may give any of them'),
  display_name: z.string().nullable(),
  emails: setOf(z.string()).describe('No users are joined by them'),
  groups: setOf(z.string()).describe('The names of the groups, from whatever side'),
  status: userStatus.describe('`blocked` as long as one side blocks the user'),
  blocked_by: setOf(z.enum(['api', 'scim'])).describe('Each side lifts its own block alone'),
  source: z.enum(['api', 'login', 'scim']).describe('The side that has written the user first'),
  external_id: z.string().nullable().describe('The id at the identity provider'),
  created_at: utcTime,
  updated_at: utcTime,
  last_seen_at: utcTime.nullable().describe('The last request for the user, within an hour'),
});
export type User = z.output<typeof user>;

export const putUser = z
  .strictObject({
    aliases: setOf(userId).max(8),
    display_name: visibleText(1, 200, 'must have a visible character').nullable(),
    emails: setOf(z.email().max(320)).max(8),
    groups: setOf(groupName)
      .max(100)
      .describe('Replaces the groups that this API gave. One that the tenant lacks is made'),
    status: userStatus.describe('`active` lifts the block of this API'),
  })
  .partial();
export type PutUser = z.output<typeof putUser>;

export const listUsers = z.strictObject({
  ...page,
  group: groupName.optional().describe('Only members of the group with this name'),
  status: userStatus.optional(),
  q: storableText(1, 200)
    .optional()
    .describe(
      'The beginning of a user id, an alias or a display name, in any case. Finds the first 10,000 of each',
    ),
});
export const userList = listOf(user);

export const group = z.strictObject({
  name: z.string().describe('Unique in any case'),
  external_id: z.string().nullable().describe('The id at the identity provider'),
  members: count,
});
export type Group = z.output<typeof group>;

export const listGroups = z.strictObject(page);
export const groupList = listOf(group);

const userExample: User = {
  user_id: 'lin',
  aliases: ['lin@example.com'],
  display_name: 'Lin Chen',
  emails: ['lin@example.com'],
  groups: ['Engineering', 'Berlin'],
  status: 'active',
  blocked_by: [],
  source: 'api',
  external_id: null,
  created_at: '2026-01-10T09:00:00.000Z',
  updated_at: '2026-01-10T09:00:00.000Z',
  last_seen_at: null,
};

const directoryRoute = routesWith({ service: 'tenant', access: scope('users.write') });

const directoryRoutes: readonly Route[] = [
  directoryRoute('users.list', 'GET /v1/users', {
    query: listUsers,
    response: ok(userList),
    summary: 'List users',
    description:
      'The users of the directory, newest first. Requests may also act for users who are not in it. A page with filters may have fewer users than its limit while more follow.',
    examples: {
      group: {
        summary: 'The members of a group',
        query: { group: 'Engineering' },
        response: pageOf(userExample),
      },
    },
  }),
  directoryRoute('users.get', 'GET /v1/users/{user_id}', {
    response: ok(user),
    summary: 'Get a user',
    description:
      'By the user id or an alias, in any case. A blocked user who was deleted is returned with the block alone.',
    examples: { user: { summary: 'A user', params: { user_id: 'lin' }, response: userExample } },
  }),
  directoryRoute('users.put', 'PUT /v1/users/{user_id}', {
    body: putUser,
    response: { status: 201, shape: user, also: 200 },
    summary: 'Create or change a user',
    description: [
      'Makes a user with this id, unless the id or an alias of it is known. Returns 201 for a new user and 200 for a changed one. Fields left out stay as they are.',
      'Takes effect within 5 seconds. Requests for a blocked user get 403 `user_blocked`: those that name the user, and those with a key that is bound to the user. The sessions of the user end; its keys work again once the block is lifted. An alias that means another user is refused with 409 `user_name_taken`. A tenant has at most 1,000,000 users and 10,000 groups; beyond, 403 `limit_reached`.',
    ].join('\n\n'),
    examples: {
      create: {
        summary: 'A user in two groups',
        params: { user_id: 'lin' },
        body: pick(userExample, 'aliases', 'display_name', 'emails', 'groups'),
        response: userExample,
      },
      block: {
        summary: 'Block a user',
        params: { user_id: 'lin' },
        body: { status: 'blocked' },
        response: { ...userExample, status: 'blocked', blocked_by: ['api'] },
      },
    },
  }),
  directoryRoute('users.delete', 'DELETE /v1/users/{user_id}', {
    response: noContent,
    summary: 'Delete a user from the directory',
    description:
      "What the user left in other places stays: see `DELETE /v1/users/{user_id}/data`. Deleting a blocked user also revokes the API keys that are bound to the user, and the block stays under hashes of the user's names, until a `PUT` with `status: active` lifts it.",
    examples: { user: { summary: 'A user', params: { user_id: 'lin' } } },
  }),
  directoryRoute('groups.list', 'GET /v1/groups', {
    query: listGroups,
    response: ok(groupList),
    summary: 'List groups',
    description: 'Newest first. A group is made where it is first named, and stays without members.',
    examples: {
      page: {
        summary: 'A group',
        response: pageOf({ name: 'Engineering', external_id: null, members: 12 }),
      },
    },
  }),
];

/** The data of end users: `/v1/users/{user_id}/data*`. */

export const deletionStatus = z.enum(['running', 'completed']);

export const userDataDeletion = z.strictObject({
  id: uuid,
  status: deletionStatus.describe('`completed` once every service has completed'),
  services: z.array(
    z.strictObject({
      service: z.string(),
      status: deletionStatus,
      counts: z.record(z.string(), count).describe('Rows removed so far, by kind'),
    }),
  ),
});
export type UserDataDeletion = z.output<typeof userDataDeletion>;

const example: UserDataDeletion = {
  id: '0198c35b-7a1e-7d40-8f27-3b9c5d1e6f80',
  status: 'running',
  services: [
    { service: 'memory', status: 'completed', counts: { documents: 12, chunks: 31 } },
    { service: 'analytics', status: 'completed', counts: { traces: 207 } },
    { service: 'chat', status: 'running', counts: {} },
    { service: 'webhook', status: 'completed', counts: { webhook_calls: 3 } },
    { service: 'agent', status: 'completed', counts: { cookies: 4 } },
  ],
};

const base = '/v1/users/{user_id}/data';
/** A user deletes no more than they could with a key, piece by piece. */
const access: Access = { kind: 'admin', orSelf: ['memory.write', 'cookies.write'] };

const route = routesWith({ service: 'tenant', access });

export const routes: readonly Route[] = [
  ...directoryRoutes,
  route('users.data.delete', `DELETE ${base}`, {
    response: accepted(userDataDeletion),
    summary: 'Delete the data of an end user',
    description:
      'Removes what the user left in the memory and knowledge graph of every agent, the calls of webhooks and messages of channels that were for the user, and the cookies of their browser. In traces, previews are cleared and a pseudonym replaces the user id; amounts stay. The deletion goes on by itself until every service has completed, and covers what the user did until the request. While a deletion of the same user runs, returns that one, which then covers what the user did until now. API keys that are bound to the user stay. A user may request it once in ten minutes.',
    examples: {
      ada: {
        summary: 'All data of one user',
        params: { user_id: 'ada' },
        response: {
          ...example,
          services: example.services.map(({ service }) => ({ service, status: 'running', counts: {} })),
        },
      },
    },
  }),
  route('users.data.deletions.get', `GET ${base}/deletions/{id}`, {
    response: ok(userDataDeletion),
    summary: 'Get the progress of a deletion',
    description: 'A deletion can be read for 90 days after it has completed.',
    examples: {
      running: {
        summary: 'A deletion that one service has not completed yet',
        params: { user_id: 'ada', id: example.id },
        response: example,
      },
    },
  }),
];
