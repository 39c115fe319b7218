import { describe, expect, it } from '@jest/globals';
import { cookieInput } from '@gatehouse/contract/cookies';
import { validate } from '@gatehouse/kit/validate';
import { readCookie } from './read-cookie.ts';

const now = new Date('2026-06-01T00:00:00Z');
const read = (fields: object, index = 3) =>
  readCookie(validate(cookieInput, { name: 'sid', value: 'x', ...fields }, 'body'), index, now);

describe('a cookie', () => {
  it.each([
    ['ours', { domain: '.example.com', path: '/a', expires: '2026-07-01T00:00:00Z', http_only: true }],
    [
      "Chrome's",
      {
        ...{
          domain: '.example.com',
          hostOnly: false,
          path: '/a',
          expirationDate: 1_782_864_000,
          httpOnly: true,
        },
        ...{ session: false, storeId: '0', sameSite: 'unspecified', secure: false },
      },
    ],
    [
      "Playwright's",
      { domain: '.example.com', path: '/a', expires: 1_782_864_000, httpOnly: true, secure: false },
    ],
    [
      "Cookie-Editor's",
      {
        ...{ domain: '.example.com', hostOnly: false, path: '/a', expirationDate: 1_782_864_000 },
        ...{ httpOnly: true, sameSite: null, secure: false, session: false, storeId: null },
      },
    ],
    [
      "EditThisCookie's",
      {
        ...{ domain: '.example.com', hostOnly: false, path: '/a', expirationDate: 1_782_864_000, id: 7 },
        ...{ httpOnly: true, sameSite: 'unspecified', secure: false, session: false, storeId: 0 },
      },
    ],
    [
      "Firefox's",
      {
        ...{ domain: '.example.com', hostOnly: false, path: '/a', expirationDate: 1_782_864_000 },
        ...{ httpOnly: true, sameSite: '', secure: false, session: false, firstPartyDomain: '' },
        ...{ partitionKey: null, storeId: 'firefox-default' },
      },
    ],
    [
      "Puppeteer's",
      {
        ...{ domain: '.example.com', path: '/a', expires: 1_782_864_000, httpOnly: true, secure: false },
        ...{ size: 4, session: false, sameParty: false, sourceScheme: 'Secure', priority: 'Medium' },
      },
    ],
    [
      "another tool's, with empty members",
      {
        ...{ url: '', domain: '.example.com', path: '/a', expires: '', expirationDate: 1_782_864_000 },
        ...{ host_only: null, http_only: null, httpOnly: true, secure: null, same_site: '' },
        ...{ partition_key: '', notes: { any: ['thing'] } },
      },
    ],
  ])('is read in the spelling that is %s', async (_whose, fields) => {
    expect(await read(fields)).toEqual({
      ...{ name: 'sid', value: 'x', domain: 'example.com', hostOnly: false, path: '/a', secure: false },
      ...{ httpOnly: true, sameSite: null, partitionKey: '', isExpired: false },
      expiresAt: new Date('2026-07-01T00:00:00Z'),
    });
  });

  it.each([
    ['a domain without a dot', { domain: 'EXAMPLE.com' }, ['example.com', true, '/']],
    ['a url', { url: 'https://a.example.com:8443/x/y?z' }, ['a.example.com', true, '/x']],
    [
      'a url and its domain',
      { url: 'https://a.example.com/', domain: 'example.com' },
      ['example.com', false, '/'],
    ],
    ['an address', { domain: '127.0.0.1' }, ['127.0.0.1', true, '/']],
    ['an IPv6 address', { url: 'http://[::1]:3000/' }, ['::1', true, '/']],
    ['a name of an internal network', { url: 'http://intranet/' }, ['intranet', true, '/']],
    ['a host that is a public suffix', { domain: 'github.io', hostOnly: true }, ['github.io', true, '/']],
    ['another alphabet', { domain: '.bücher.example' }, ['xn--bcher-kva.example', false, '/']],
  ])('is for %s', async (_what, fields, [domain, hostOnly, path]) => {
    expect(await read(fields)).toMatchObject({ domain, hostOnly, path });
  });

  it.each([
    [{ sameSite: 'no_restriction' }, 'none'],
    [{ sameSite: 'Lax' }, 'lax'],
    [{ same_site: 'strict' }, 'strict'],
    [{ sameSite: 'unspecified' }, null],
    [{ same_site: null, sameSite: 'no_restriction' }, 'none'],
    [{}, null],
  ])('with %j has the same-site rule %s', async (fields, expected) => {
    expect((await read({ domain: 'example.com', ...fields })).sameSite).toBe(expected);
  });

  it.each([
    [{ partition_key: 'https://top.example' }, 'https://top.example'],
    [{ partitionKey: { topLevelSite: 'https://top.example' } }, 'https://top.example'],
    [{ partitionKey: {} }, ''],
    [{ partitionKey: { topLevelSite: null, other: 1 } }, ''],
    [{ partitionKey: { sourceOrigin: 'https://top.example' } }, 'https://top.example'],
    [{ partitionKey: { topLevelSite: '', sourceOrigin: 'https://top.example' } }, 'https://top.example'],
  ])('with %j is of the partition %s', async (fields, expected) => {
    expect((await read({ domain: 'example.com', ...fields })).partitionKey).toBe(expected);
  });

  it.each([
    [{ expires: -1 }, null, false],
    [{ expires: null }, null, false],
    [{ expires: null, expirationDate: 1_790_000_000.850801 }, new Date(1_790_000_000_850), false],
    [{ expirationDate: '' }, null, false],
    [{ expires: 253_402_300_799 }, new Date('9998-12-31T23:59:59Z'), false],
    [{ expires: 2 ** 52 }, new Date('9998-12-31T23:59:59Z'), false],
    [{ expires: 0 }, new Date(0), true],
    [{ expires: '2026-05-31T23:59:59Z' }, new Date('2026-05-31T23:59:59Z'), true],
  ])('with %j expires at %s', async (fields, expiresAt, isExpired) => {
    expect(await read({ domain: 'example.com', ...fields })).toMatchObject({ expiresAt, isExpired });
  });

  it.each([
    ['no place', {}, 'cookies[3].domain'],
    ['a public suffix', { domain: 'co.uk' }, 'cookies[3].domain'],
    ['a public suffix with a dot', { domain: '.com' }, 'cookies[3].domain'],
    ['subdomains of an address', { domain: '.127.0.0.1' }, 'cookies[3].domain'],
    ['no host name', { domain: 'not a host' }, 'cookies[3].domain'],
    [
      'the domain of another url',
      { url: 'https://evil.example/', domain: 'bank.example' },
      'cookies[3].domain',
    ],
    [
      'a secure cookie of a page without https',
      { url: 'http://a.example.com/', secure: true },
      'cookies[3].secure',
    ],
    ['__Secure- without secure', { name: '__Secure-a', domain: 'example.com' }, 'cookies[3]'],
    ['__secure- without secure', { name: '__secure-a', domain: 'example.com' }, 'cookies[3]'],
    ['__Host- without secure', { name: '__Host-a', domain: 'example.com' }, 'cookies[3]'],
    ['__Host- for subdomains', { name: '__Host-a', domain: '.example.com', secure: true }, 'cookies[3]'],
    [
      '__Host- for a path',
      { name: '__Host-a', domain: 'example.com', secure: true, path: '/a' },
      'cookies[3]',
    ],
    ['an empty domain and no url', { domain: '' }, 'cookies[3].domain'],
  ])('with %s is refused', async (_what, fields, param) => {
    await expect(read(fields)).rejects.toMatchObject({ code: 'invalid_value', param });
  });

  it.each([
    ['no name', { name: '' }],
    ['"=" in its name', { name: 'a=b' }],
    ['a line end', { value: 'a\r\nSet-Cookie: b' }],
    ['a semicolon', { value: 'a; b' }],
    ['more than 4 KiB', { value: 'ü'.repeat(2_049) }],
    ['no value', { value: null }],
    ['a path that is a number', { path: 7 }],
    ['an unknown rule of same-site', { sameSite: 'sometimes' }],
    ['a path without a slash', { path: 'a' }],
    ['a time that is none', { expires: 1e300 }],
  ])('with %s does not have the shape', (_what, fields) => {
    expect(() => validate(cookieInput, { name: 'a', value: '', domain: 'a.b', ...fields }, 'body')).toThrow();
  });
});
