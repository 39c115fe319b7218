import { describe, expect, it } from '@jest/globals';
import { cookieInput } from '@gatehouse/contract/cookies';
import { validate } from '@gatehouse/http/validate';
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
    [{}, null],
  ])('with %j has the same-site rule %s', async (fields, expected) => {
    expect((await read({ domain: 'example.com', ...fields })).sameSite).toBe(expected);
  });

  it.each([
    [{ partition_key: 'https://top.example' }, 'https://top.example'],
    [{ partitionKey: { topLevelSite: 'https://top.example' } }, 'https://top.example'],
    [{ partitionKey: {} }, ''],
  ])('with %j is of the partition %s', async (fields, expected) => {
    expect((await read({ domain: 'example.com', ...fields })).partitionKey).toBe(expected);
  });

  it.each([
    [{ expires: -1 }, null, false],
    [{ expires: null }, null, false],
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
  ])('with %s is refused', async (_what, fields, param) => {
    await expect(read(fields)).rejects.toMatchObject({ code: 'invalid_value', param });
  });

  it.each([
    ['no name', { name: '' }],
    ['"=" in its name', { name: 'a=b' }],
    ['a line end', { value: 'a\r\nSet-Cookie: b' }],
    ['a semicolon', { value: 'a; b' }],
    ['more than 4 KiB', { value: 'ü'.repeat(2_049) }],
    ['an unknown member', { samesite: 'lax' }],
    ['a path without a slash', { path: 'a' }],
    ['a time that is none', { expires: 1e300 }],
  ])('with %s does not have the shape', (_what, fields) => {
    expect(() => validate(cookieInput, { name: 'a', value: '', domain: 'a.b', ...fields }, 'body')).toThrow();
  });
});
