import { z } from 'zod';
import {
  count,
  listOf,
  page,
  storableChar,
  storableForm,
  storableText,
  timestamp,
  utcTime,
  uuid,
} from './fields.ts';
import { noContent, ok, pageOf, routesWith, scope, type Route } from './route.ts';

/** The cookies of a user's browser, for the tools of an agent: `/v1/browser/cookies*`. */

const maxValueBytes = 4_096;

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;
/** Characters allowed neither in a name nor in a value (RFC 6265bis, 5.6). */
// oxlint-disable-next-line no-control-regex -- the rule is about control characters
const forbidden = /[\u0000-\u0008\u000a-\u001f\u007f;]/;
const inner = String.raw`[^\x00-\x08\x0a-\x1f\x7f;]`;
const end = String.raw`[^\x00-\x1f\x7f;\s]`;
const text = (max: number) =>
  storableText(0, max)
    .refine((value) => bytesOf(value) <= max, `must have at most ${max} bytes`)
    .refine((value) => !forbidden.test(value), 'must not contain control characters or semicolons')
    .refine((value) => value === value.trim(), 'must not begin or end with white space')
    .meta({ pattern: `^(${end}(${inner}*${end})?)?$` });

/** The end of the year 9998, in seconds. */
const lastS = 253_370_764_799;
/** Some sites want their cookies to be kept for thousands of years. */
const highestS = 2 ** 52;

/**
 * A member of an export: browsers' extensions write null or an empty text for what a cookie does not have. Read as
 * undefined.
 */
const member = <Shape extends z.ZodType>(shape: Shape) =>
  z
    .union([shape, z.null(), z.literal('')])
    .transform((value) => (value === null || value === '' ? undefined : value))
    .optional();

/** Seconds since the epoch, as browsers export it, or a time; -1 is a session's end. */
const expires = member(
  z.union([
    z
      .number()
      .min(-lastS)
      .max(highestS)
      .transform((seconds) => Math.min(seconds, lastS)),
    timestamp,
  ]),
);

const sameSite = member(
  z
    .string()
    .max(20)
    .toLowerCase()
    .pipe(z.enum(['strict', 'lax', 'none', 'no_restriction', 'unspecified'])),
);

const site = z.union([storableText(0, 512), z.null()]).optional();
const partitionKey = member(
  z.union([
    storableText(1, 512),
    // Chrome's extension API has `topLevelSite`, Puppeteer `sourceOrigin`.
    z.object({ topLevelSite: site, sourceOrigin: site }),
  ]),
);

const cookiePath = storableForm(1, 1_024, new RegExp(`^/${storableChar}*$`), 'must start with "/"');

const flag = member(z.boolean());

/**
 * A cookie in the spelling of this API, of Chrome's extension API, or of Playwright's storage state. Extensions and
 * tools add members of their own: they are ignored.
 */
export const cookieInput = z.object({
  name: text(1_024).refine((name) => name !== '' && !name.includes('='), 'must not be empty or contain "="'),
  value: text(maxValueBytes),
  domain: member(storableText(1, 255)).describe('A leading dot: subdomains too. Required without `url`'),
  url: member(z.url({ protocol: /^https?$/ }).max(2_048)).describe('URL of the page that the cookie is for'),
  path: member(cookiePath),
  expires: expires.describe('A time, or seconds since the epoch. Without it: the end of the session'),
  expirationDate: expires,
  host_only: flag,
  hostOnly: flag,
  http_only: flag,
  httpOnly: flag,
  secure: flag,
  same_site: sameSite,
  sameSite,
  partition_key: partitionKey,
  partitionKey,
});
export type CookieInput = z.output<typeof cookieInput>;

export const syncCookies = z.strictObject({
  agent_id: storableText(1, 64).describe('Id or key'),
  mode: z
    .enum(['merge', 'replace'])
    .default('merge')
    .describe('`replace` deletes the cookies that the request does not have'),
  source: storableText(0, 100).default('').describe('Source of the cookies, such as a browser'),
  cookies: z.array(cookieInput).min(1).max(500),
});
export type SyncCookies = z.output<typeof syncCookies>;

export const syncedCookies = z.strictObject({
  synced: count.describe('Cookies that were stored'),
  deleted: count.describe('Cookies that were deleted: replaced as a whole, or expired'),
  agent_id: uuid,
  user_id: z.string(),
  domains: z
    .array(z.strictObject({ domain: z.string(), cookies: count }))
    .describe('Domains of the stored cookies'),
});
export type SyncedCookies = z.output<typeof syncedCookies>;

export const browserCookie = z.strictObject({
  agent_id: uuid,
  name: z.string(),
  domain: z.string(),
  host_only: z.boolean().describe('Whether subdomains do not get it'),
  path: z.string(),
  secure: z.boolean(),
  http_only: z.boolean(),
  same_site: z.enum(['strict', 'lax', 'none']).nullable(),
  partition_key: z.string().nullable(),
  expires_at: utcTime.nullable().describe('Null for the end of the session'),
  source: z.string(),
  created_at: utcTime,
  updated_at: utcTime,
});
export type BrowserCookie = z.output<typeof browserCookie>;

const agentFilter = { agent_id: uuid.optional() };
export const listCookies = z.strictObject({ ...page, ...agentFilter });
export const cookieList = listOf(browserCookie);
export const deleteCookies = z.strictObject({
  ...agentFilter,
  domain: storableText(1, 255).optional().describe('Only cookies of this domain'),
});

const agentId = '0198c2b1-3c4d-7e5f-8a9b-0c1d2e3f4a5b';
const example: BrowserCookie = {
  agent_id: agentId,
  name: '__Host-session',
  domain: 'intranet.example.com',
  host_only: true,
  path: '/',
  secure: true,
  http_only: true,
  same_site: 'lax',
  partition_key: null,
  expires_at: '2026-02-10T09:00:00.000Z',
  source: 'chrome',
  created_at: '2026-01-10T09:00:00.000Z',
  updated_at: '2026-01-10T09:00:00.000Z',
};

const forUser = { actingUser: true, needsActingUser: true } as const;
const route = routesWith({ service: 'agent', access: scope('cookies.write'), ...forUser });
const base = '/v1/browser/cookies';

export const routes: readonly Route[] = [
  route('browser.cookies.sync', `POST ${base}/sync`, {
    body: syncCookies,
    response: ok(syncedCookies),
    summary: 'Give an agent cookies of the acting user',
    description:
      "For runs of this user only. Values are encrypted and never returned. Cookies are held to RFC 6265bis; one that breaks a rule is named by its index, and nothing is stored. The spellings of Chrome's extension API and of Playwright's storage state are accepted too; unknown members of a cookie are ignored, and null and empty ones count as absent. A domain without a leading dot is for that host only. Kept for 400 days at most.",
    examples: {
      one: {
        summary: 'A session of an internal page',
        body: {
          ...{ agent_id: agentId, mode: 'merge', source: 'chrome' },
          cookies: [
            {
              ...{ name: '__Host-session', value: 'replace-me', domain: 'intranet.example.com', path: '/' },
              ...{ expires: '2026-02-10T09:00:00Z', http_only: true, secure: true, same_site: 'lax' },
            },
          ],
        },
        response: {
          ...{ synced: 1, deleted: 0, agent_id: agentId, user_id: 'ada' },
          domains: [{ domain: 'intranet.example.com', cookies: 1 }],
        },
      },
    },
  }),
  route('browser.cookies.list', `GET ${base}`, {
    query: listCookies,
    response: ok(cookieList),
    summary: 'List the cookies of the acting user, without their values',
    examples: {
      page: { summary: 'Cookies of one agent', query: { agent_id: agentId }, response: pageOf(example) },
    },
  }),
  route('browser.cookies.delete', `DELETE ${base}`, {
    query: deleteCookies,
    response: noContent,
    summary: 'Delete cookies of the acting user',
    examples: { agent: { summary: 'Cookies of one agent', query: { agent_id: agentId } } },
  }),
];
