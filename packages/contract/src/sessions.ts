import { z } from 'zod';
import { listOf, page, utcTime, uuid } from './fields.ts';
import { roles, scopes } from './scopes.ts';
import { admin, noContent, ok, pageExample, routesWith, type Route } from './route.ts';

/** Sessions of people who use pages of the gateway in a browser: `/login*`, `/logout`, `/v1/session*`. */

/** A page of the gateway sends it with this value; no page of another origin can. */
export const pageHeader = { name: 'x-gatehouse-page', value: '1' } as const;

/** Without the prefix and the attribute `Secure` where the gateway is reached by http. */
export const sessionCookie = 'gatehouse';

export const keyLogin = z.strictObject({
  key: z.string().min(1).max(256).describe('The text of an API key'),
});

export const currentSession = z.strictObject({
  user_id: z.string().nullable(),
  name: z.string().describe('The name of the key'),
  tenant: z.string().nullable().describe('The slug of the tenant; null for an owner'),
  role: z.enum(roles),
  scopes: z.array(z.enum(scopes)),
  expires_at: utcTime.describe('The session ends at this time, and after 30 minutes without a request'),
});
export type CurrentSession = z.output<typeof currentSession>;

/** How a session was opened. */
export const openedBy = ['key', 'issuer', 'link', 'device'] as const;
export type OpenedBy = (typeof openedBy)[number];

export const session = z.strictObject({
  id: uuid,
  key_id: uuid.describe('The API key that it was made with, and ends with'),
  name: z.string(),
  role: z.enum(roles),
  scopes: z.array(z.enum(scopes)),
  user_id: z.string().nullable(),
  opened_by: z
    .enum(openedBy)
    .describe('By an API key, an OpenID Connect issuer, a login link of the operator, or a code of a device'),
  created_at: utcTime,
  last_seen_at: utcTime.describe('Approximate: at most a minute old'),
  expires_at: utcTime,
});
export type Session = z.output<typeof session>;

export const listSessions = z.strictObject(page);
export const sessionList = listOf(session);

const current: CurrentSession = {
  user_id: 'ada',
  name: "Ada's key",
  tenant: 'demo',
  role: 'user',
  scopes: ['chat', 'agents.read', 'memory.read', 'memory.write', 'analytics.read', 'cookies.write'],
  expires_at: '2026-01-10T21:00:00.000Z',
};

export const sessionExample: Session = {
  id: '0198c35c-1d2e-7f30-9a41-5b6c7d8e9f01',
  key_id: '0198c2a5-1f3e-7c64-9d3b-5a0f6f3b2c11',
  name: current.name,
  role: current.role,
  scopes: current.scopes,
  user_id: current.user_id,
  opened_by: 'key',
  created_at: '2026-01-10T09:00:00.000Z',
  last_seen_at: '2026-01-10T09:41:00.000Z',
  expires_at: current.expires_at,
};

/** Browsers say by these where a request comes from, and which session they have. */
export const fromBrowser = ['cookie', 'origin', 'sec-fetch-site'];

const route = routesWith({ service: 'tenant', access: { kind: 'ticket', headers: fromBrowser } });

export const routes: readonly Route[] = [
  route('login.key', 'POST /login/key', {
    body: keyLogin,
    response: ok(currentSession),
    summary: 'Log in with an API key',
    description:
      'Sets the cookie of a new session, for a page of the gateway itself. The session has the rights of the key, and ends when the key does, after 30 minutes without a request and after 12 hours. Of one key, 20 sessions are open at most: the oldest ends first.',
    examples: {
      ada: {
        summary: 'A key that is bound to a user',
        body: { key: 'gwk_7Hq2LmXw9RtB4cNz_kq3T8vYb1LxWm6RzUeJ2oFhN5sPd9GaC4iVt7MyX0wE' },
        response: current,
      },
    },
  }),
  route('session.get', 'GET /v1/session', {
    access: { kind: 'session' },
    response: ok(currentSession),
    summary: 'Get the session of the browser',
    examples: { ada: { summary: 'A session of a user', response: current } },
  }),
  route('sessions.list', 'GET /v1/sessions', {
    access: admin,
    query: listSessions,
    response: ok(sessionList),
    summary: 'List the open sessions of the tenant',
    examples: pageExample('The newest session', sessionExample),
  }),
  route('sessions.delete', 'DELETE /v1/sessions/{id}', {
    access: admin,
    response: noContent,
    summary: 'End a session',
    description: 'Takes effect within 5 seconds; running streams finish.',
    examples: { session: { summary: 'A session of a user', params: { id: sessionExample.id } } },
  }),
];

const returnTo = z.strictObject({ return_to: z.string().max(2_048).optional() });
/** The issuer decides which more parameters it adds. */
const issuerAnswer = z.looseObject({
  code: z.string().max(8_192).optional(),
  state: z.string().max(256).optional(),
  iss: z.string().max(2_048).optional(),
  error: z.string().max(256).optional(),
});

/** Routes for browsers, and for issuers: not part of the OpenAPI document. */
export const pageRoutes: readonly Route[] = [
  route('login.page', 'GET /login', {
    access: { kind: 'ticket', headers: ['cookie'] },
    query: returnTo,
    response: { status: 200, shape: null },
    summary: 'The page with the ways to log in',
  }),
  route('login.form', 'POST /login', {
    query: returnTo,
    response: { status: 303, shape: null },
    summary: 'The form of the page: logs in with an API key',
  }),
  route('login.oidc', 'GET /login/oidc/{issuer}', {
    access: { kind: 'ticket', headers: [] },
    query: returnTo,
    response: { status: 303, shape: null },
    summary: 'Leads the browser to an OpenID Connect issuer',
  }),
  route('login.oidc.callback', 'GET /login/oidc/{issuer}/callback', {
    access: { kind: 'ticket', headers: ['cookie'] },
    query: issuerAnswer,
    response: { status: 303, shape: null },
    summary: 'The issuer sends the browser here: logs in, or lets a person of several tenants choose',
  }),
  route('login.oidc.form', 'POST /login/oidc/{issuer}/choice', {
    query: returnTo,
    response: { status: 303, shape: null },
    summary: 'The form of the choice among tenants: logs in',
  }),
  route('login.oidc.logout', 'POST /login/oidc/{issuer}/backchannel-logout', {
    access: { kind: 'ticket', headers: [] },
    response: { status: 200, shape: null },
    summary: 'The issuer reports that it has ended a session, or all sessions of a person',
  }),
  route('logout', 'POST /logout', {
    response: { status: 303, shape: null },
    summary: 'Ends the session of the browser, and leads to the page for logout of its issuer, or for login',
  }),
];
