import { describe, expect, it } from '@jest/globals';
import { cookieInput } from '@gatehouse/contract/cookies';
import { validate } from '@gatehouse/kit/validate';
import fc from 'fast-check';
import { CookieJar } from 'tough-cookie';
import { placeOf } from './cookie.ts';
import { domainsOf, FetchCookies, type OpenCookie } from './fetch-cookies.ts';
import { readCookie } from './read-cookie.ts';

const hosts = [
  'a.example.com',
  'b.a.example.com',
  'example.com',
  'example.org',
  'intranet',
  '127.0.0.1',
  '[::1]',
];
const paths = ['/', '/a', '/a/', '/a/b', '/ab'];
const cookie = fc.record({
  name: fc.constantFrom('sid', 'token', '__Host-id', '__Secure-id', 'ü'),
  value: fc.constantFrom('1', 'two words', 'grün', '東京', '"quoted"', 'a=b'),
  host: fc.constantFrom(...hosts),
  forSubdomains: fc.boolean(),
  path: fc.constantFrom(...paths),
  secure: fc.boolean(),
  expires: fc.constantFrom(null, null, '2020-01-01T00:00:00Z', '2036-01-01T00:00:00Z'),
});
const page = fc.record({
  scheme: fc.constantFrom('https', 'http'),
  host: fc.constantFrom(...hosts, 'c.b.a.example.com', 'notexample.com'),
  path: fc.constantFrom(...paths, '/a/b/c', '/x?a=1'),
});

type Given = typeof cookie extends fc.Arbitrary<infer Of> ? Of : never;

/** As a browser gets it from a page. */
function setCookieOf({ name, value, host, forSubdomains, path, secure, expires }: Given): string {
  return [
    `${name}=${value}`,
    `Path=${path}`,
    ...(forSubdomains ? [`Domain=${host}`] : []),
    ...(secure ? ['Secure'] : []),
    ...(expires === null ? [] : [`Expires=${new Date(expires).toUTCString()}`]),
  ].join('; ');
}

/** As a user syncs it; null if no browser would store it. */
async function openOf(given: Given, createdAt: Date): Promise<(OpenCookie & { isExpired: boolean }) | null> {
  const { name, value, host, forSubdomains, path, secure, expires } = given;
  const bare = host.replace(/[[\]]/g, '');
  const input = { name, value, path, secure, domain: forSubdomains ? `.${bare}` : bare };
  const parsed = validate(cookieInput, { ...input, ...(expires !== null && { expires }) }, 'body');
  const read = await readCookie(parsed, 0, new Date()).catch(() => null);
  return read === null ? null : { ...read, createdAt };
}

describe('the cookies of a page', () => {
  it('are those that a browser sends, in its order', async () => {
    const sent = { cookies: 0 };
    const begunAt = Date.now() - 60_000;
    await fc.assert(
      fc.asyncProperty(
        fc.array(cookie, { maxLength: 12 }),
        fc.array(page, { minLength: 1, maxLength: 6 }),
        async (given, pages) => {
          const browser = new CookieJar(undefined, {
            ...{
              prefixSecurity: 'strict',
              allowSpecialUseDomain: true,
              looseMode: true,
              rejectPublicSuffixes: false,
            },
          });
          const stored = new Map<string, OpenCookie>();
          const seen = new Set<string>();
          for (const [index, each] of given.entries()) {
            const now = new Date(begunAt + index);
            const open = await openOf(each, now);
            if (open === null) continue;
            // To browsers these are two cookies, to the library one.
            const twin = placeOf({ ...open, hostOnly: !open.hostOnly });
            if (seen.has(twin)) continue;
            seen.add(placeOf(open));
            await browser.setCookie(setCookieOf(each), `https://${each.host}${each.path}`, { now });
            // Browsers keep no expired cookie; the library does, and gives its age to the next of that name.
            if (open.isExpired) await browser.store.removeCookie(open.domain, open.path, open.name);
            const place = placeOf(open);
            const createdAt = stored.get(place)?.createdAt ?? open.createdAt;
            stored.delete(place);
            if (!open.isExpired) stored.set(place, { ...open, createdAt });
          }
          const fetch = new FetchCookies((domains) =>
            Promise.resolve([...stored.values()].filter(({ domain }) => domains.includes(domain))),
          );
          for (const { scheme, host, path } of pages) {
            const url = new URL(`${scheme}://${host}${path}`);
            const header = await fetch.headerFor(url);
            const expected = await browser.getCookies(url.href);
            const pairs = (header ?? '').split('; ').filter((pair) => pair !== '');
            sent.cookies += pairs.length;
            const text = Buffer.from(pairs.join('; '), 'latin1').toString();
            expect(text).toBe(expected.map((each) => each.cookieString()).join('; '));
          }
        },
      ),
      { numRuns: 1_000 },
    );
    expect(sent.cookies).toBeGreaterThan(200);
  });

  const at = (fields: Partial<OpenCookie>): OpenCookie => ({
    ...{ name: 'a', value: '1', domain: 'shop.example.com', hostOnly: true, path: '/', secure: true },
    ...{ httpOnly: true, sameSite: 'strict', partitionKey: '', expiresAt: null, createdAt: new Date() },
    ...fields,
  });
  const headerOf = (stored: OpenCookie[], url: string) =>
    new FetchCookies(() => Promise.resolve(stored)).headerFor(new URL(url));

  it('are sent whatever their SameSite, as for a page that a user opens', async () => {
    expect(await headerOf([at({}), at({ name: 'b', sameSite: 'lax' })], 'https://shop.example.com/')).toBe(
      'a=1; b=1',
    );
  });

  it('of a partition are for the pages of that site alone', async () => {
    const stored = [
      at({ name: 'own', partitionKey: 'https://example.com' }),
      at({ name: 'other', partitionKey: 'https://news.example' }),
    ];
    expect(await headerOf(stored, 'https://shop.example.com/')).toBe('own=1');
  });

  it('are cut where no server would take more', async () => {
    const stored = Array.from({ length: 60 }, (_, n) => at({ name: `n${n}`, value: 'x'.repeat(4_000) }));
    const header = (await headerOf(stored, 'https://shop.example.com/')) ?? '';
    expect(header.length).toBeLessThanOrEqual(64 * 1024);
    expect(header.length).toBeGreaterThan(60_000);
  });

  it('that responses set are sent to the pages that follow, as far as they may be set', async () => {
    const cookies = new FetchCookies(() => Promise.resolve([]));
    await cookies.take(new URL('https://login.example.com/'), [
      'sid=1; Domain=example.com; Path=/; Secure',
      'own=2',
      'bad=3; Domain=example.org',
    ]);
    expect(await cookies.headerFor(new URL('https://shop.example.com/'))).toBe('sid=1');
    expect(await cookies.headerFor(new URL('https://login.example.com/'))).toBe('sid=1; own=2');
    expect(await cookies.headerFor(new URL('https://example.org/'))).toBeNull();
  });
});

it.each([
  ['a.b.example.com', ['a.b.example.com', 'b.example.com', 'example.com', 'com']],
  ['EXAMPLE.com.', ['example.com', 'com']],
  ['127.0.0.1', ['127.0.0.1']],
  ['[::1]', ['::1']],
])('cookies of %s are of the domains %j', (host, domains) => {
  expect(domainsOf(host)).toEqual(domains);
});
