import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallToolResponse } from '@gatehouse/proto/agent/v1/agent';
import { eventually } from '@gatehouse/test/eventually';
import type { As } from '@gatehouse/test/service-under-test';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

let agents: AgentServiceUnderTest;
let tenant: TestTenant;
let agentId: string;
let site: Server;
/** Requests that the site got: path and cookies. */
const seen: [path: string, cookie: string | undefined][] = [];
let answer: (request: IncomingMessage, response: ServerResponse) => unknown;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start({ settings: { EGRESS_ALLOW: '127.0.0.1,127.0.0.2' } });
  site = createServer((request, response) => {
    const { cookie } = request.headers;
    seen.push([request.url ?? '', cookie === undefined ? cookie : Buffer.from(cookie, 'latin1').toString()]);
    answer(request, response);
  });
  site.listen(0, '0.0.0.0');
  await once(site, 'listening');
});
beforeEach(async () => {
  tenant = agents.makeTenant();
  agentId = await makeAgent();
  seen.length = 0;
  answer = (_, response) => html(response, '<p>Hello</p>');
});
afterEach(() => site.closeAllConnections());
afterAll(async () => {
  await agents.stop();
  site.close();
});

const makeAgent = async (builtin = ['web_fetch']) =>
  (await agents.makeAgent(tenant.admin, { tools: { builtin } })).id;
const at = (path: string, host = '127.0.0.1') =>
  `http://${host}:${(site.address() as AddressInfo).port}${path}`;

function html(response: ServerResponse, body: string, status = 200): ServerResponse {
  return response.writeHead(status, { 'content-type': 'text/html' }).end(`<html><body>${body}</body></html>`);
}

interface Asked {
  as?: As;
  of?: string;
  signal?: AbortSignal;
}

async function fetchPage(args: object, asked: Asked = {}): Promise<CallToolResponse> {
  const { as = tenant.acting('ann'), of = agentId, signal } = asked;
  const chat = await agents.peer('chat');
  return chat.call(
    'callTool',
    { agentId: of, serverId: '', tool: 'web_fetch', argumentsJson: JSON.stringify(args) },
    { ...(await agents.actingFor(as)), deadlineMs: 120_000, signal },
  );
}

async function sync(user: string, of: string, cookies: object[]): Promise<void> {
  const body = { agent_id: of, cookies };
  const synced = await agents.call('POST', '/v1/browser/cookies/sync', { as: tenant.acting(user), body });
  expect(synced.status).toBe(200);
}

describe('the tools of the gateway', () => {
  it('are those that the agent has, with their schemas', async () => {
    const all = await makeAgent(['kg_traverse', 'web_fetch', 'memory_search']);
    const chat = await agents.peer('chat');
    const { tools } = await chat.call(
      'listTools',
      { agentId: all, revisionOnly: false },
      await agents.actingFor(tenant.user),
    );
    expect(tools.map(({ name, executor, serverId }) => [name, executor, serverId])).toEqual([
      ['web_fetch', 'agent', ''],
      ['memory_search', 'memory', ''],
      ['kg_traverse', 'memory', ''],
    ]);
    expect(JSON.parse(tools[0]?.schemaJson ?? '')).toMatchObject({
      ...{ type: 'object', required: ['url'], additionalProperties: false },
      properties: { url: { type: 'string' } },
    });
    expect(
      (await chat.call('resolveAgent', { idOrKey: all }, await agents.actingFor(tenant.user))).agent,
    ).toHaveProperty('tools.maxIterations', 10);
  });

  it('are refused to an agent without them', async () => {
    const without = await makeAgent([]);
    await expect(fetchPage({ url: at('/') }, { of: without })).rejects.toMatchObject({ code: 'not_found' });
    expect(seen).toEqual([]);
  });
});

describe('a page', () => {
  it('is fetched from hosts that the agent names, if it names some, also after redirects', async () => {
    const tools = { builtin: ['web_fetch'], web_hosts: ['127.0.0.1'] };
    const of = (await agents.makeAgent(tenant.admin, { tools })).id;
    const notAllowed = { outcome: 'unreachable', content: expect.stringContaining('not allowed') };
    expect((await fetchPage({ url: at('/') }, { of })).outcome).toBe('ok');
    expect(await fetchPage({ url: at('/', '127.0.0.2') }, { of })).toEqual(notAllowed);
    answer = (_, response) => response.writeHead(302, { location: at('/', '127.0.0.2') }).end();
    expect(await fetchPage({ url: at('/from') }, { of })).toEqual(notAllowed);
    expect(seen.map(([path]) => path)).toEqual(['/', '/from']);
    await agents.patch(tenant.admin, of, { tools: { web_hosts: [] } });
    answer = (_, response) => html(response, '<p>Hello</p>');
    expect((await fetchPage({ url: at('/', '127.0.0.2') }, { of })).outcome).toBe('ok');
  });

  it('is its readable text, with title and address', async () => {
    const paragraph =
      '<p>The engine was tested again, and it ran for a long time without a fault, they said.</p>';
    answer = (_, response) =>
      html(
        response,
        `<title>News &amp; more</title><nav><a href="/x">Menu of the site</a></nav>
         <article><h1>Engines</h1>${paragraph.repeat(8)}<script>steal()</script></article>`,
      );
    const { content, outcome } = await fetchPage({ url: at('/news') });
    expect(outcome).toBe('ok');
    expect(content).toContain(`URL: ${at('/news')}\nTitle: News & more\n`);
    expect(content).toContain('ran for a long time');
    expect(content).not.toContain('Menu of the site');
    expect(content).not.toContain('steal');
  });

  it.each([
    ['JSON', 'application/json', '{"a": 1}', '{"a": 1}'],
    ['a short page', 'text/html', '<ul><li>One</li><li>Two</li></ul>', 'One\nTwo'],
    ['another encoding', 'text/html; charset=iso-8859-1', Buffer.from('<p>gr\xfcn</p>', 'latin1'), 'grün'],
    [
      'an encoding in the page',
      'text/html',
      Buffer.from('<meta charset="windows-1252"><p>gr\xfcn</p>', 'latin1'),
      'grün',
    ],
    [
      'an encoding in the page that Node does not have whole',
      'text/html',
      Buffer.concat([Buffer.from('<meta charset="euc-kr"><p>'), Buffer.from('8c63b9e6b0a2c7cf', 'hex')]),
      '똠방각하',
    ],
    ['UTF-16', 'text/html', Buffer.from('\ufeff<p>Grüße aus Köln</p>', 'utf16le'), 'Grüße aus Köln'],
    [
      'a text that names an encoding',
      'text/markdown',
      'Send `text/html; charset=iso-8859-1`. Äpfel',
      'charset=iso-8859-1`. Äpfel',
    ],
    ['a table', 'text/html', '<table><tr><td>a</td><td>b</td></tr></table>', 'a | b'],
    ['an image', 'image/png', Buffer.alloc(10), '[image/png, 10 bytes, not a text]'],
    ['no page', 'text/html', '', ''],
  ])('of %s is read', async (_, type, body, expected) => {
    answer = (_request, response) => response.writeHead(200, { 'content-type': type }).end(body);
    const { content, outcome } = await fetchPage({ url: at('/') });
    expect([outcome, content]).toEqual(['ok', expect.stringContaining(expected)]);
  });

  it('with an error is a result that says so', async () => {
    answer = (_, response) => html(response, '<p>Gone fishing</p>', 404);
    expect(await fetchPage({ url: at('/') })).toEqual({
      outcome: 'error',
      content: `URL: ${at('/')}\nStatus: 404\n\nGone fishing`,
    });
  });

  it.each([
    [{}, 'url'],
    [{ url: 'file:///etc/passwd' }, 'https'],
    [{ url: 'no address' }, 'https'],
    [{ url: `https://${'a.'.repeat(4_000)}example.com/` }, 'https'],
    [{ url: 'https://a.example/', method: 'POST' }, 'method'],
  ])('is not fetched for %j', async (args, problem) => {
    const { content, outcome } = await fetchPage(args);
    expect([outcome, content]).toEqual(['error', expect.stringContaining(problem)]);
  });

  it.each(['http://127.0.0.3/', 'https://10.0.0.1/', 'https://169.254.169.254/latest', 'http://localhost/'])(
    'at %s is out of reach',
    async (url) => {
      const { outcome, content } = await fetchPage({ url });
      expect([outcome, content]).toEqual(['unreachable', expect.stringContaining('not allowed')]);
    },
  );

  it('that is too large, nested deeply, or never ends keeps no other page from being read', async () => {
    answer = (_, response) => html(response, 'x'.repeat(3 * 1024 * 1024));
    expect((await fetchPage({ url: at('/') })).outcome).toBe('too_large');
    answer = (_, response) => html(response, '<div>'.repeat(100_000));
    const nested = fetchPage({ url: at('/') });
    const other = agents.makeTenant();
    const theirs = (await agents.makeAgent(other.admin, { tools: { builtin: ['web_fetch'] } })).id;
    await eventually(() => expect(seen).toHaveLength(2));
    answer = (_, response) => html(response, '<p>Quick</p>');
    expect((await fetchPage({ url: at('/') }, { as: other.user, of: theirs })).content).toContain('Quick');
    // Read, or given up for the depth; in any case there is a result.
    expect(['ok', 'invalid']).toContain((await nested).outcome);
    const closed = { count: 0 };
    answer = (request, response) => {
      request.socket.once('close', () => (closed.count += 1));
      response.writeHead(200, { 'content-type': 'text/html' }).write('<p>');
    };
    const leaves = new AbortController();
    const endless = fetchPage({ url: at('/') }, { signal: leaves.signal });
    await eventually(() => expect(seen).toHaveLength(4));
    answer = (_, response) => html(response, '<p>Beside it</p>');
    expect((await fetchPage({ url: at('/') })).content).toContain('Beside it');
    leaves.abort();
    await expect(endless).rejects.toThrow();
    await eventually(() => expect(closed.count).toBe(1));
  });
});

describe('cookies', () => {
  const own = (name: string, value: string, fields: object = {}) => ({
    name,
    value,
    domain: '127.0.0.1',
    ...fields,
  });

  it('of the acting user for this agent are sent, and of no other', async () => {
    const otherAgent = await makeAgent();
    await sync('ann', agentId, [
      own('sid', 'grün'),
      own('deep', '2', { path: '/deep' }),
      own('safe', '3', { secure: true }),
    ]);
    await sync('bob', agentId, [own('sid', 'of bob')]);
    await sync('ann', otherAgent, [own('sid', 'of the other')]);
    await fetchPage({ url: at('/') });
    await fetchPage({ url: at('/deep/x') });
    await fetchPage({ url: at('/', '127.0.0.2') });
    await fetchPage({ url: at('/') }, { as: tenant.acting('bob') });
    await fetchPage({ url: at('/') }, { of: otherAgent });
    await fetchPage({ url: at('/') }, { as: tenant.acting('eve') });
    await fetchPage({ url: at('/') }, { as: tenant.admin });
    // Those of one request are equally old.
    expect(seen.map(([, cookie]) => cookie?.split('; ').sort().join('; '))).toEqual([
      // This machine counts as secure, as to browsers.
      'safe=3; sid=grün',
      'deep=2; safe=3; sid=grün',
      undefined,
      'sid=of bob',
      'sid=of the other',
      undefined,
      undefined,
    ]);
  });

  it('go with redirects where a browser sends them, with what pages set on the way', async () => {
    await sync('ann', agentId, [own('sid', '1'), own('other', '2', { domain: '127.0.0.2' })]);
    answer = ({ url = '' }, response) => {
      const to = { '/a': at('/b', '127.0.0.2'), '/b': at('/c') }[url];
      if (to === undefined) html(response, '<p>There</p>');
      else response.writeHead(302, { location: to, 'set-cookie': [`at${url.slice(1)}=yes; Path=/`] }).end();
    };
    const { content } = await fetchPage({ url: at('/a#part') });
    expect(content).toContain(`URL: ${at('/c#part')}`);
    expect(seen).toEqual([
      ['/a', 'sid=1'],
      ['/b', 'other=2'],
      ['/c', 'sid=1; ata=yes'],
    ]);
    // The browser has its own.
    await fetchPage({ url: at('/c') });
    expect(seen.at(-1)).toEqual(['/c', 'sid=1']);
  });

  it('go nowhere with a redirect to what is inside, and not round for ever', async () => {
    await sync('ann', agentId, [own('sid', '1')]);
    answer = (_, response) => response.writeHead(302, { location: at('/', '127.0.0.3') }).end();
    expect((await fetchPage({ url: at('/') })).outcome).toBe('unreachable');
    expect(seen).toHaveLength(1);
    answer = (_, response) => response.writeHead(302, { location: '/again' }).end();
    expect((await fetchPage({ url: at('/') })).outcome).toBe('invalid');
    expect(seen).toHaveLength(22);
  });
});
