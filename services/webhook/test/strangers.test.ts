import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { WebhookServiceUnderTest } from './webhook-service.ts';

/** Clients without a key can't keep genuine deliveries out. */

let webhooks: WebhookServiceUnderTest;
const sockets: Socket[] = [];

beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start();
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => webhooks.stop());

const mebibyte = 1024 * 1024;

/** Bytes of deliveries that are not verified. */
async function anonymousBytes(): Promise<number> {
  const [, bytes] = /^gatehouse_anonymous_bytes\{.*\} (\d+)$/m.exec(await webhooks.metrics()) ?? [];
  return Number(bytes);
}

/** Sends a delivery of 1 MiB but for its last bytes. Resolves when the service has read what was sent. */
async function slowBody(from: string, path: string, route: string): Promise<Socket> {
  const assertion = await (await webhooks.identity.signer('edge')).anonymous(route);
  const socket = connect(webhooks.service.httpPort, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined).resume();
  const lines = [
    `POST ${path} HTTP/1.1`,
    'host: webhook',
    'content-type: application/json',
    `content-length: ${mebibyte}`,
    `x-gatehouse-assertion: ${assertion}`,
    `x-gatehouse-client-ip: ${from}`,
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  if (!socket.write(Buffer.alloc(mebibyte - 100, ' '))) await once(socket, 'drain');
  return socket;
}

it('answers genuine deliveries while slow bodies of 40 networks fill the memory for unverified ones', async () => {
  const tenant = webhooks.makeTenant();
  const endpoint = await webhooks.makeEndpoint(tenant);
  const path = `/v1/webhooks/llm?endpoint=${endpoint.id}`;
  for (let index = 0; index < 40; index += 1)
    await slowBody(`2001:db8:0:${index.toString(16)}::1`, path, 'webhooks.llm');
  await eventually(async () => expect(await anonymousBytes()).toBeGreaterThan(30 * mebibyte));
  const body = { input: 'x'.repeat(900_000) };
  for (let sent = 0; sent < 3; sent += 1)
    expect((await webhooks.deliver(endpoint, { body, id: newId() })).status).toBe(200);
});

it('takes no more than 4 MiB of one /64, and what others send', async () => {
  const endpoint = await webhooks.makeEndpoint(webhooks.makeTenant());
  const path = `/v1/webhooks/llm?endpoint=${endpoint.id}`;
  for (let index = 0; index < 34; index += 1)
    await slowBody(`2001:db8::${index.toString(16)}`, path, 'webhooks.llm');
  await eventually(async () => expect(await anonymousBytes()).toBeGreaterThan(3 * mebibyte));
  expect(await anonymousBytes()).toBeLessThanOrEqual(4 * mebibyte);
  const { status } = await webhooks.deliver(endpoint, { body: { input: 'hello' }, from: '2001:db8:1::1' });
  expect(status).toBe(200);
});

it('answers genuine deliveries beside a thousand forged ones of one address', async () => {
  const endpoint = await webhooks.makeEndpoint(webhooks.makeTenant());
  const forged = Array.from({ length: 1_000 }, () =>
    webhooks.deliver(endpoint, { body: { input: 'forged' }, to: newId(), from: '198.51.100.66' }),
  );
  const genuine = await Promise.all(
    Array.from({ length: 8 }, () => webhooks.deliver(endpoint, { body: { input: 'genuine' } })),
  );
  expect(genuine.map(({ status }) => status)).toEqual(Array(8).fill(200));
  const statuses = new Set((await Promise.all(forged)).map(({ status }) => status));
  expect([...statuses].sort()).toEqual([401, 429]);
});

it('keeps the body of a verified delivery out of what unverified ones may take', async () => {
  const busy = webhooks.makeTenant();
  const endpoint = await webhooks.makeEndpoint(busy);
  const other = await webhooks.makeEndpoint(webhooks.makeTenant());
  const held = Promise.withResolvers<undefined>();
  webhooks.chat.gate = held.promise;
  const input = 'y'.repeat(mebibyte - 1_000);
  const waiting = Array.from({ length: 32 }, (_, index) =>
    webhooks.deliver(endpoint, { body: { input }, from: `198.51.100.${index + 8}` }),
  );
  await eventually(async () => {
    expect(webhooks.chat.runs.filter(({ request }) => request.requestJson.includes(input))).toHaveLength(12);
    expect(await anonymousBytes()).toBe(0);
  });
  const theirs = webhooks.deliver(other, { body: { input } });
  await eventually(() =>
    expect(webhooks.chat.runs.filter(({ request }) => request.requestJson.includes(input))).toHaveLength(13),
  );
  held.resolve(undefined);
  webhooks.chat.gate = Promise.resolve();
  expect((await theirs).status).toBe(200);
  const statuses = (await Promise.all(waiting)).map(({ status }) => status);
  // The tenant's own share is an eighth of the process's 96 MiB.
  expect(statuses.toSorted()).toEqual([...Array<number>(12).fill(200), ...Array<number>(20).fill(429)]);
});
