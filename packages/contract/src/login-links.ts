import { z } from 'zod';
import { route, type Route } from './route.ts';
import { fromBrowser } from './sessions.ts';

/** Links that log in once, which the operator makes: `/login/link`. For browsers, so not part of the OpenAPI document. */

export const pageRoutes: readonly Route[] = [
  route({
    id: 'login.link',
    method: 'GET',
    path: '/login/link',
    service: 'tenant',
    access: { kind: 'ticket', headers: [] },
    query: z.strictObject({ ticket: z.string().max(64) }),
    response: { status: 200, shape: null },
    summary: 'The page with a button that logs in',
  }),
  route({
    id: 'login.link.form',
    method: 'POST',
    path: '/login/link',
    service: 'tenant',
    access: { kind: 'ticket', headers: fromBrowser },
    response: { status: 303, shape: null },
    summary: 'Its form: logs in, and leads to the pages',
  }),
];
