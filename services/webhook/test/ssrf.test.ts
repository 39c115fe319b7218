import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { Receiver } from '@gatehouse/test/receiver';
import { WebhookServiceUnderTest, type AnswerBody, type TestTenant } from './webhook-service.ts';

/** Wherever a tenant, or a sender of one, gives a URL: nothing inside sees a connection. */

let webhooks: WebhookServiceUnderTest;
let tenant: TestTenant;
let inside: Server;
let connections = 0;
let port = 0;

beforeAll(async () => {
  // A server on every address of this machine, as a database or a metadata service would be.
  inside = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => inside.listen(0, '::', resolve));
  ({ port } = inside.address() as AddressInfo);
  webhooks = await WebhookServiceUnderTest.start({ EGRESS_ALLOW: '127.0.0.2' });
  tenant = webhooks.makeTenant();
});
afterAll(async () => {
  await webhooks.stop();
  await new Promise((resolve) => inside.close(resolve));
});

const hosts = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f.0.0.1',
    '0x7f000001',
    '017700000001',
    '0',
    '0.0.0.0',
  ],
  ...['127.0.0.3', '127.255.255.254', '[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]'],
  ...['[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[fe80::1]', '[fd00::1]'],
  ...['10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', '169.254.169.254', '192.0.0.192'],
  ...['198.18.0.1', '192.0.2.1', '224.0.0.1', '255.255.255.255', '240.0.0.1'],
  ...[
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    'metadata.google.internal',
    'kubernetes.default.svc.cluster.local',
  ],
  ...['１２７.０.０.１', '127。0。0。1', '①②⑦.0.0.1'],
];
const urls = hosts.flatMap((host) => [`https://${host}:PORT/x`, `http://${host}:PORT/x`]);
const others = [
  ...[
    'https://user@127.0.0.2/',
    'https://127.0.0.2@127.0.0.1:PORT/',
    'ftp://127.0.0.2/',
    'file:///etc/passwd',
  ],
  ...[
    'gopher://127.0.0.1:PORT/_x',
    '//127.0.0.1:PORT/',
    'https:127.0.0.1:PORT',
    'https:\\\\127.0.0.1:PORT\\x',
  ],
];
const table = [...urls, ...others].map((url): [string] => [url]);
const withPort = (url: string): string => url.replaceAll('PORT', String(port));

const codeOf = ({ status, body }: { status: number; body: AnswerBody }) => [status, body.error.code];
const refused = [400, 'url_not_allowed'];

describe.each(table)('%s', (template) => {
  it('is refused wherever a URL is given', async () => {
    const url = withPort(template);
    expect(codeOf(await webhooks.post(tenant, { mode: 'async', callback_url: url }))).toEqual(refused);
    const endpoint = await webhooks.makeEndpoint(tenant, { mode: 'async' });
    const as = tenant.admin;
    const patched = await webhooks.call('PATCH', `/v1/webhooks/endpoints/${endpoint.id}`, {
      ...{ as, body: { callback_url: url } },
    });
    expect(codeOf(patched)).toEqual(refused);
    const delivered = await webhooks.deliver(endpoint, { body: { input: 'x', callback_url: url } });
    expect(codeOf(delivered)).toEqual(refused);
    const body = { url, event_types: ['run.failed'] };
    expect(codeOf(await webhooks.call('POST', '/v1/webhooks/subscriptions', { as, body }))).toEqual(refused);
    expect(connections).toBe(0);
  });
});

describe('a URL that was allowed once', () => {
  /** As if it had been allowed, or had meant another address, when it was given. */
  async function sendTo(url: string): Promise<string | null | undefined> {
    const endpoint = await webhooks.makeEndpoint(tenant, {
      ...{ mode: 'async', callback_url: 'https://93.184.215.14/' },
    });
    await webhooks.rows('update webhook.endpoints set callback_url = $1 where id = $2', [url, endpoint.id]);
    const { body } = await webhooks.deliver(endpoint, { body: { input: 'x' } });
    return eventually(async () => {
      const call = await webhooks.call('GET', `/v1/webhooks/calls/${body.call_id}`, { as: tenant.admin });
      const [attempt] = call.body.deliveries[0]?.attempts ?? [];
      expect(attempt).toBeDefined();
      expect(attempt?.status).toBeNull();
      return attempt?.error;
    });
  }

  it.each(urls.map((url): [string] => [url]))('is checked again when %s is called', async (template) => {
    const url = URL.parse(withPort(template));
    if (url === null) return;
    expect(await sendTo(url.href)).toBe('The URL is not allowed.');
    expect(connections).toBe(0);
  });
});

it('the only address that is allowed is called', async () => {
  const receiver = await Receiver.start('127.0.0.2');
  const url = receiver.url('/allowed');
  const endpoint = await webhooks.makeEndpoint(tenant, { mode: 'async', callback_url: url });
  await webhooks.deliver(endpoint, { body: { input: 'x' } });
  await eventually(() => expect(receiver.at('/allowed')).toHaveLength(1));
  expect(connections).toBe(0);
  await receiver.stop();
});

it('a redirect is not followed', async () => {
  const receiver = await Receiver.start('127.0.0.2');
  receiver.answer = (path) =>
    path === '/first' ? { status: 307, headers: { location: `http://127.0.0.1:${port}/` } } : { status: 200 };
  const endpoint = await webhooks.makeEndpoint(tenant, {
    ...{ mode: 'async', callback_url: receiver.url('/first') },
  });
  await webhooks.deliver(endpoint, { body: { input: 'x' } });
  await eventually(() => expect(receiver.at('/first')).toHaveLength(1));
  expect(connections).toBe(0);
  await receiver.stop();
});
