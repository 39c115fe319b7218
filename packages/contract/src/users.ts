import { z } from 'zod';
import { count, uuid } from './fields.ts';
import { accepted, ok, routesWith, type Access, type Route } from './route.ts';

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
