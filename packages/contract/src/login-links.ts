import { z } from 'zod';
import { routesWith, type Route } from './route.ts';
import { fromBrowser } from './sessions.ts';

const route = routesWith({ service: 'tenant' });

/** Links made by the operator for one login each: `/login/link`. For browsers, so not part of the OpenAPI document. */

export const pageRoutes: readonly Route[] = [
  route('login.link', 'GET /login/link', {
    access: { kind: 'ticket', headers: [] },
    query: z.strictObject({ ticket: z.string().max(64) }),
    response: { status: 200, shape: null },
    summary: 'The page with a button that logs in',
  }),
  route('login.link.form', 'POST /login/link', {
    access: { kind: 'ticket', headers: fromBrowser },
    response: { status: 303, shape: null },
    summary: 'Its form: logs in, and leads to the pages',
  }),
];
