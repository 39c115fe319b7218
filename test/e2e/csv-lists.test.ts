import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { errorCode } from '@gatehouse/test/error-code';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { Answer, SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { parse } from 'csv-parse/sync';

/** Lists as CSV through the whole gateway; `openapi.test.ts` compares each of them with JSON. */

let gateway: SomeGateway;
let mine: TenantAccess;
let theirs: TenantAccess;

beforeAll(async () => {
  gateway = await openGateway();
  [mine, theirs] = [await gateway.makeTenant(), await gateway.makeTenant()];
  for (const { adminKey, slug } of [mine, theirs])
    for (const key of ['one', 'two', 'three'])
      await gateway.call('/v1/agents', {
        key: adminKey,
        body: { key, model: 'small', name: `${key} of ${slug}` },
      });
});
afterAll(() => gateway.stop());

const asCsv = (route: string, key: string): Promise<Answer> =>
  gateway.call(route, { key, headers: { accept: 'text/csv' } });

const namesIn = ({ body }: Answer): unknown[] =>
  parse<{ name: string }>(String(body), { columns: true }).map(({ name }) => name);

const nextOf = ({ headers }: Answer): string =>
  /^<(.+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] ?? '';

it('a tenant gets its own items on every page, also by the link of another tenant', async () => {
  const first = await asCsv('/v1/agents?limit=1', mine.adminKey);
  expect(namesIn(first)).toEqual([`three of ${mine.slug}`]);
  const next = nextOf(first);
  expect(next).toMatch(/^\/v1\/agents\?limit=1&cursor=./);
  const [own, foreign] = [await asCsv(next, mine.adminKey), await asCsv(next, theirs.adminKey)];
  expect(namesIn(own)).toEqual([`two of ${mine.slug}`]);
  for (const name of namesIn(foreign)) expect(name).toMatch(` of ${theirs.slug}`);
  const all = await asCsv('/v1/agents', theirs.adminKey);
  expect(namesIn(all)).toEqual(['three', 'two', 'one'].map((key) => `${key} of ${theirs.slug}`));
  expect(nextOf(all)).toBe('');
});

it.each([
  ['without a key', '/v1/agents', () => '', '401 invalid_api_key'],
  ['with a key that may not', '/v1/audit-log', () => mine.userKey, '403 role_missing'],
  ['for what is the owner’s', '/internal/v1/owner/tenants', () => mine.adminKey, '403 role_missing'],
  ['with a wrong limit', '/v1/agents?limit=0', () => mine.adminKey, '400 invalid_value'],
])('a request %s fails as JSON', async (_name, route, key, expected) => {
  const answer = await asCsv(route, key());
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(`${answer.status} ${errorCode(answer.body) ?? ''}`).toBe(expected);
});

it('lists of other APIs stay JSON', async () => {
  for (const route of ['/v1/models', '/v1/files', '/v1/batches']) {
    const answer = await asCsv(route, mine.userKey);
    expect(answer).toMatchObject({ status: 200, body: { object: 'list' } });
    expect(answer.headers.get('vary')).toBeNull();
  }
});

it('the browser relay passes CSV on', async () => {
  const answer = await asCsv('/api-docs/proxy/v1/agents?limit=1', mine.adminKey);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
  expect(namesIn(answer)).toEqual([`three of ${mine.slug}`]);
});
