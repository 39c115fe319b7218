import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { eventually } from '@gatehouse/test/eventually';
import { makeChannel, messagesOf, write, written } from './channels-under-test.ts';
import { WebhookServiceUnderTest, type AnswerBody, type TestTenant } from './webhook-service.ts';

/** The longest call of a job to chat. */
const inJobMs = 1_000;

let webhooks: WebhookServiceUnderTest;
let tenant: TestTenant;
let endpoint: AnswerBody;
const { promise: end, resolve: endCalls } = Promise.withResolvers<undefined>();

beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start({ EGRESS_ALLOW: '127.0.0.1' }, { inJobMs });
  tenant = webhooks.makeTenant();
  endpoint = await webhooks.makeEndpoint(tenant, { mode: 'async' });
});
afterAll(async () => {
  endCalls(undefined);
  await webhooks.stop();
});

const callOf = async (id: string): Promise<AnswerBody> =>
  (await webhooks.call('GET', `/v1/webhooks/calls/${id}`, { as: tenant.admin })).body;

it('an async call whose replica of chat is gone is made again in the same attempt', async () => {
  webhooks.chat.prepare('to a lost host', end);
  const { body } = await webhooks.deliver(endpoint, { body: { input: 'to a lost host' } });
  await eventually(async () =>
    expect(await callOf(body.call_id)).toMatchObject({
      status: 'succeeded',
      output: 'echo: to a lost host',
    }),
  );
  const ids = webhooks.chat.runsOf('to a lost host').map(({ request }) => request.callId);
  expect(ids).toEqual([ids[0], ids[0]]);
});

it('a message of a channel is answered too', async () => {
  const config = { callback_url: 'http://127.0.0.1:9/' };
  const channel = await makeChannel(webhooks, tenant, { type: 'generic', config });
  webhooks.chat.prepare('to a lost host by a channel', end);
  await write(webhooks, channel, written('to a lost host by a channel'));
  await eventually(async () =>
    expect((await messagesOf(webhooks, channel)).map(({ status }) => status)).toContain('answered'),
  );
});

it('a run that takes longer than a call is made once', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
  webhooks.chat.gate = gate;
  const { body } = await webhooks.deliver(endpoint, { body: { input: 'at length' } });
  await eventually(() => expect(webhooks.chat.runsOf('at length')).toHaveLength(1));
  await sleep(2 * inJobMs);
  open(undefined);
  await eventually(async () =>
    expect(await callOf(body.call_id)).toMatchObject({ status: 'succeeded', output: 'echo: at length' }),
  );
  expect(webhooks.chat.runsOf('at length')).toHaveLength(1);
});
