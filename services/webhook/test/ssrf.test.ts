import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { Receiver } from '@gatehouse/test/receiver';
import { insideUrls, refusedUrls } from '@gatehouse/test/ssrf-urls';
import { WebhookServiceUnderTest, type AnswerBody, type TestTenant } from './webhook-service.ts';

/** Nothing inside sees a connection, wherever a tenant, or a sender of one, gives a URL. */

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

const table = refusedUrls.map((url): [string] => [url]);
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

  it.each(insideUrls.map((url): [string] => [url]))(
    'is checked again when %s is called',
    async (template) => {
      const url = URL.parse(withPort(template));
      if (url === null) return;
      expect(await sendTo(url.href)).toBe('The URL is not allowed.');
      expect(connections).toBe(0);
    },
  );
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
