import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { eventually } from '@gatehouse/test/eventually';
import { Receiver } from '@gatehouse/test/receiver';
import { callTexts, resultReader } from '../src/calls/call-texts.ts';
import { leaseS } from '../src/bounds.ts';
import { attempt } from '../src/deliveries/attempt-job.ts';
import { targetOf, type Attempt, type DueDelivery } from '../src/deliveries/delivery.ts';
import { Hops } from '../src/deliveries/hops.ts';
import { Messages } from '../src/deliveries/messages.ts';
import { webhookSecrets } from '../src/secrets/webhook-secrets.ts';
import { CallStore } from '../src/calls/call-store.ts';
import { DeliveryStore } from '../src/deliveries/delivery-store.ts';
import { ReplyStore, type ClaimedReply, type QueuedReply } from '../src/conversations/reply-store.ts';
import { makeChannel, messagesOf, write, written, type TestChannel } from './channels-under-test.ts';
import { WebhookServiceUnderTest, type TestTenant } from './webhook-service.ts';

/** Attempts of a process that stood still: another one has taken its jobs and claims meanwhile. */

let webhooks: WebhookServiceUnderTest;
let receiver: Receiver;
let app: Pool;
let tenant: TestTenant;
let path: string;

beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start({ EGRESS_ALLOW: '127.0.0.1' });
  receiver = await Receiver.start();
  const log = createLogger('test', 'silent');
  app = createPool({ url: webhooks.database.url, role: 'webhook_app', max: 2, log });
});
beforeEach(() => {
  tenant = webhooks.makeTenant();
  path = `/${newId()}`;
  receiver.answer = () => ({ status: 200 });
});
afterAll(async () => {
  await app.end();
  await webhooks.stop();
  await receiver.stop();
});

const makeGeneric = (): Promise<TestChannel> =>
  makeChannel(webhooks, tenant, { type: 'generic', config: { callback_url: receiver.url(path) } });
const statuses = async (channel: TestChannel) =>
  (await messagesOf(webhooks, channel)).map(({ direction, status }) => `${direction} ${status}`);

it('a reply is not sent a second time while the attempt of a job that was taken for lost sends it', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
  receiver.answer = async () => {
    await gate;
    return { status: 200 };
  };
  const channel = await makeGeneric();
  await write(webhooks, channel, written('once'));
  await eventually(() => expect(receiver.at(path)).toHaveLength(1));
  const jobs = `webhook_jobs.job_common where name = 'send_replies' and group_id = '${tenant.id}'`;
  // The heartbeats stop for a minute, until the job is taken over.
  await eventually(async () => {
    await webhooks.rows(
      `update webhook_jobs.job_common set heartbeat_on = now() - interval '1 minute'
       where name = 'send_replies' and group_id = $1 and state = 'active' and retry_count = 0`,
      [tenant.id],
    );
    expect(await webhooks.rows(`select from ${jobs} and state = 'active' and retry_count = 0`)).toEqual([]);
  });
  // The successor has looked at the reply when it has queued the time after the claim, or has ended.
  await eventually(async () =>
    expect(await webhooks.rows(`select from ${jobs} and state in ('active', 'retry')`)).toEqual([]),
  );
  open(undefined);
  await eventually(async () => expect(await statuses(channel)).toEqual(['in answered', 'out sent']));
  await eventually(async () => expect(await webhooks.rows(`select from ${jobs}`)).toEqual([]));
  expect(receiver.at(path)).toHaveLength(1);
});

describe('a claim of a reply', () => {
  let channel: TestChannel;
  let store: ReplyStore;
  let conversationId: string;
  const next = async (): Promise<QueuedReply> => {
    const reply = await store.next(tenant.id, conversationId);
    if (reply === null) throw new Error('no reply is queued');
    return reply;
  };
  const claimed = async (): Promise<ClaimedReply> => {
    const claim = await store.claim(await next());
    if (claim === null) throw new Error('the reply is claimed');
    return claim;
  };
  const expire = () =>
    webhooks.rows(
      `update webhook.channel_messages set due_at = now() where tenant_id = $1 and status = 'queued'`,
      [tenant.id],
    );

  beforeEach(async () => {
    store = new ReplyStore(app);
    channel = await makeGeneric();
    await write(webhooks, channel, written('Hello'));
    await eventually(async () => expect(await statuses(channel)).toContain('out sent'));
    // Queued again in a channel that nothing is sent for: only the test works on it.
    const body = { enabled: false };
    await webhooks.call('PATCH', `/v1/channels/instances/${channel.id}`, { as: tenant.admin, body });
    const [row] = await webhooks.rows<{ id: string }>(
      `update webhook.channel_messages set status = 'queued', due_at = now()
       where tenant_id = $1 and direction = 'out' returning conversation_id as id`,
      [tenant.id],
    );
    conversationId = row?.id ?? '';
  });

  it('keeps others away for its time', async () => {
    const reply = await next();
    await claimed();
    expect(await store.claim(reply)).toBeNull();
    const { waitS } = await next();
    expect(waitS).toBeGreaterThan(25);
    expect(waitS).toBeLessThanOrEqual(leaseS);
  });

  it('that is over changes nothing by a failure, and ends the reply by a success', async () => {
    const stale = await claimed();
    await expire();
    const held = await claimed();
    await store.fail(stale);
    await store.postpone(stale, 3_600);
    await store.release(stale);
    expect(await next()).toMatchObject({ attempts: 0 });
    expect((await next()).waitS).toBeGreaterThan(15);
    await store.sent(stale, null);
    await store.postpone(held, 1);
    expect(await statuses(channel)).toEqual(['in answered', 'out sent']);
  });
});

describe('a claim of a delivery', () => {
  let store: DeliveryStore;
  let callId: string;
  const target = () => ({ tenantId: tenant.id, target: targetOf(receiver.url('/')) });
  const claim = async (): Promise<DueDelivery> => {
    const due = await store.claimDue(target());
    if (due === null) throw new Error('nothing is due');
    return due;
  };
  const rowOf = async () => {
    const [row] = await webhooks.rows<{ status: string; attempts: number; claimed: boolean }>(
      `select status, attempts, coalesce(claimed_until > now(), false) as claimed
       from webhook.deliveries where call_id = $1`,
      [callId],
    );
    return row;
  };
  const expire = () =>
    webhooks.rows(`update webhook.deliveries set claimed_until = now() - interval '1 s' where call_id = $1`, [
      callId,
    ]);
  const made = (status: number): Attempt => ({
    ...{ at: new Date(), durationMs: 1, status, error: null, retryAfterS: null, exceedsHops: false },
  });
  const nothing = () => Promise.resolve();

  beforeEach(async () => {
    store = new DeliveryStore(app);
    // The service tries again in an hour only.
    receiver.answer = () => ({ status: 503, headers: { 'retry-after': '3600' } });
    const endpoint = await webhooks.makeEndpoint(tenant, { mode: 'async', callback_url: receiver.url(path) });
    callId = (await webhooks.deliver(endpoint, { body: { input: 'x' } })).body.call_id;
    await eventually(async () => expect(await rowOf()).toMatchObject({ attempts: 1 }));
    // Its job looks for more of the target before it ends.
    const active = `select from webhook_jobs.job_common where name = 'deliver' and group_id = $1 and state = 'active'`;
    await eventually(async () => expect(await webhooks.rows(active, [tenant.id])).toEqual([]));
    await webhooks.rows('update webhook.deliveries set due_at = now() where call_id = $1', [callId]);
  });

  it('that is over changes nothing by a failure, and ends the delivery by a success', async () => {
    const stale = await claim();
    await expire();
    await claim();
    await store.postpone(stale);
    const retry = { kind: 'retry', afterS: 3_600 } as const;
    await store.record(stale, { attempt: made(500), verdict: retry }, nothing);
    expect(await rowOf()).toEqual({ status: 'pending', attempts: 1, claimed: true });
    await store.record(stale, { attempt: made(200), verdict: { kind: 'delivered' } }, nothing);
    expect(await rowOf()).toEqual({ status: 'delivered', attempts: 2, claimed: false });
  });

  it('that may be over before the attempt is lets nothing be sent', async () => {
    const keyRing = KeyRing.parse(webhooks.identity.keyRing);
    const calls = new CallStore(app);
    const messages = new Messages({
      resultOf: resultReader((tenantId, id) => calls.find(tenantId, id), callTexts(keyRing)),
      secrets: webhookSecrets(keyRing),
    });
    const urls: string[] = [];
    const send = (delivery: DueDelivery) =>
      attempt(delivery, {
        ...{ messages, hops: new Hops(keyRing), at: new Date(), log: createLogger('test', 'silent') },
        egress: {
          request: ({ url }) => {
            urls.push(url.pathname);
            return Promise.resolve({ status: 200, headers: {}, setCookies: [], body: Buffer.alloc(0) });
          },
        },
      });
    const due = await claim();
    expect(due.sendBeforeMs - performance.now()).toBeLessThanOrEqual(15_000);
    expect(await send({ ...due, sendBeforeMs: performance.now() - 1 })).toBeNull();
    expect(urls).toEqual([]);
    expect(await send(due)).toMatchObject({ status: 200 });
    expect(urls).toEqual([path]);
  });
});
