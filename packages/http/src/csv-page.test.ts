import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { routes, type Route } from '@gatehouse/contract/routes';
import { tableOf, type Table } from '@gatehouse/contract/table';
import { sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { longestBlock } from '@gatehouse/test/longest-block';
import { makePrincipal, testIdentity, type TestIdentity } from '@gatehouse/test/identity';
import { appParts } from '../test/app-parts.ts';
import { createApp, type Handler } from './app.ts';
import { csvMark } from '@gatehouse/kit/csv';
import { csvPage, prefersCsv } from './csv-page.ts';
import { HttpServer } from './server.ts';

let identity: TestIdentity;
let server: HttpServer;
let answer: Handler;

const own = routes.filter(({ service }) => service === 'tenant');

beforeAll(async () => {
  identity = await testIdentity();
  const app = createApp({
    service: 'tenant',
    handlers: Object.fromEntries(own.map(({ id }) => [id, (call) => answer(call)])),
    ...(await appParts(identity)),
  });
  server = new HttpServer(app, { host: '127.0.0.1', port: 0, drainTimeoutMs: 100 });
  await server.start();
});
afterAll(async () => server.stop());

async function ask(
  path: string,
  accept = 'text/csv',
  method = 'GET',
  signal?: AbortSignal,
): Promise<Response> {
  const assertion = await identity.assertion(makePrincipal({ role: 'admin' }));
  const headers = { 'x-gatehouse-assertion': assertion, accept };
  return fetch(`http://127.0.0.1:${server.port}${path}`, { method, headers, ...(signal && { signal }) });
}

const key = {
  id: '0198c0de-0000-7000-8000-000000000001',
  name: '=SUM(A1)',
  role: 'user',
  scopes: ['chat', 'agents.read'],
  user_id: null,
  prefix: 'gwk_x',
  status: 'active',
  limits: { requests_per_minute: 60 },
  budget: null,
  created_by: '',
  created_at: '2026-01-10T09:00:00.000Z',
  last_used_at: null,
  expires_at: null,
  revoked_at: null,
  toolsets: null,
  client_settings: null,
  resource: null,
  client: null,
};

const keyColumns =
  'id,name,role,scopes,user_id,prefix,status,limits.requests_per_minute,limits.tokens_per_minute,' +
  'limits.max_concurrent,budget.usd,budget.period,created_by,created_at,last_used_at,expires_at,revoked_at,' +
  'toolsets,client_settings,resource,client\r\n';

describe('a list', () => {
  it('is CSV for a client that prefers it, with a link to the next page', async () => {
    const page = { data: [key], has_more: true, next_cursor: 'a+b' };
    answer = () => Promise.resolve({ body: page, headers: { 'x-own': '1' } });
    const response = await ask('/v1/api-keys?user_id=a%20%3E%22&limit=1&cursor=old');
    expect([response.status, await response.text()]).toEqual([
      200,
      `${keyColumns}${key.id},'=SUM(A1),user,chat; agents.read,,gwk_x,active,60,,,,,"",2026-01-10T09:00:00.000Z,,,,,,,\r\n`,
    ]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="api-keys.csv"',
      'x-gateway-rows': '1',
      vary: 'Accept',
      link: '</v1/api-keys?user_id=a+%3E%22&limit=1&cursor=a%2Bb>; rel="next"',
      'x-own': '1',
    });
  });

  it('without items has its columns, and no link', async () => {
    answer = () => Promise.resolve({ body: { data: [], has_more: false, next_cursor: null } });
    const response = await ask('/v1/api-keys');
    expect([
      await response.text(),
      response.headers.get('link'),
      response.headers.get('x-gateway-rows'),
    ]).toEqual([keyColumns, null, '0']);
    const head = await ask('/v1/api-keys', 'text/csv', 'HEAD');
    const bytes = Buffer.byteLength(csvMark + keyColumns);
    expect([head.headers.get('content-length'), await head.text()]).toEqual([String(bytes), '']);
  });

  it.each([
    ['/v1/api-keys', csvMark],
    ['/v1/api-keys?cursor=a', csvMark],
    ['/v1/api-keys?bom=true', csvMark],
    ['/v1/api-keys?bom=false&limit=1', ''],
  ])('has the mark of UTF-8 at the begin of each page: %s', async (path, mark) => {
    answer = () => Promise.resolve({ body: { data: [], has_more: true, next_cursor: 'b' } });
    const response = await ask(path);
    expect(Buffer.from(await response.arrayBuffer()).toString()).toBe(mark + keyColumns);
    const link = response.headers.get('link') ?? '';
    expect(link.includes('bom=false')).toBe(mark === '');
  });

  it('takes bom=false as JSON too, and no other value', async () => {
    answer = ({ query }) => {
      expect(query).not.toHaveProperty('bom');
      return Promise.resolve({ body: { data: [], has_more: false, next_cursor: null } });
    };
    expect((await ask('/v1/api-keys?bom=false', '*/*')).status).toBe(200);
    for (const bom of ['no', '', 'true&bom=true']) {
      const refused = await ask(`/v1/api-keys?bom=${bom}`);
      expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param: 'bom' } }]);
    }
  });

  it('is JSON for other clients, and caches keep both apart', async () => {
    const page = { data: [key], has_more: false, next_cursor: null };
    answer = () => Promise.resolve({ body: page });
    const response = await ask('/v1/api-keys', '*/*');
    expect(await response.json()).toEqual(page);
    const { headers } = response;
    expect([headers.get('content-type'), headers.get('vary'), headers.get('link')]).toEqual([
      'application/json',
      'Accept',
      null,
    ]);
  });

  it('fails as JSON', async () => {
    answer = () => Promise.reject(new AppError('invalid_cursor', 'Invalid cursor.', { param: 'cursor' }));
    const response = await ask('/v1/api-keys');
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/json']);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_cursor' } });
  });
});

it.each(['text/csv', 'application/json'])(
  'pages as %s are not written for clients that left',
  async (accept) => {
    let read = 0;
    const item = { ...key, name: 'n'.repeat(2_000) };
    Object.defineProperty(item, 'prefix', { enumerable: true, get: () => String((read += 1)) });
    const [pages, items] = [40, 2_000];
    const busy = Promise.withResolvers<undefined>();
    let begun = 0;
    answer = () => {
      if ((begun += 1) === 16) busy.resolve(undefined);
      return Promise.resolve({ body: { data: Array(items).fill(item), has_more: false, next_cursor: null } });
    };
    const leave = new AbortController();
    const asked = Array.from({ length: pages }, () => ask('/v1/api-keys', accept, 'GET', leave.signal));
    await busy.promise;
    leave.abort();
    await Promise.allSettled(asked);
    for (let before = -1; before !== read;) {
      before = read;
      await sleep(500);
    }
    // Those begun on a busy machine before all connections are seen to end.
    expect(read).toBeLessThan((pages - 8) * items);
  },
);

it('what is no list stays JSON', async () => {
  answer = () => Promise.resolve({ body: key });
  const response = await ask(`/v1/api-keys/${key.id}`);
  expect([await response.json(), response.headers.get('vary')]).toEqual([key, null]);
});

it.each([
  ['text/csv', true],
  ['TEXT/CSV; Charset=utf-8', true],
  ['text/csv, */*', true],
  ['text/csv, application/*', true],
  ['text/csv;q=0.5, application/json;q=0.4', true],
  ['application/json; q=0, text/csv; q=0.001', true],
  [undefined, false],
  ['', false],
  ['*/*', false],
  ['text/*', false],
  ['application/json, text/csv', false],
  ['text/csv, application/json', false],
  ['text/csv;q=0.5, */*', false],
  ['text/csv;q=0.5, */*;q=0.1, application/json', false],
  ['text/csv;q=0', false],
  ['text/csv;q=x', false],
  ['text/csvs', false],
])('%s prefers CSV: %p', (accept, isCsv) => {
  expect(prefersCsv(accept)).toBe(isCsv);
});

/** Five times what is promised. */
const mostMs = 250;

it.each([
  ['ten items', 10, { system_prompt: '"'.repeat(200_000) }],
  ['one item of a text full of quotes', 1, { system_prompt: '"'.repeat(2_000_000) }],
  ['one item of as many values as a body has', 1, { metadata: { all: Array(500_000).fill('""') } }],
])('a page of 4 MiB with %s leaves the event loop to others', async (_name, count, agent) => {
  const route = routes.find(({ id }) => id === 'agents.list') as Route;
  const table = tableOf(route) as Table;
  const page = { data: Array.from({ length: count }, () => agent), has_more: false, next_cursor: null };
  const written = (): Promise<unknown> =>
    csvPage(table, page, { route, url: '/v1/agents', hasMark: true, tenantId: null });
  expect(await longestBlock(written)).toBeLessThan(mostMs);
});
