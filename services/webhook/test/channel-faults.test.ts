import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Jobs } from '@gatehouse/jobs/jobs';
import { AppError } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { createPool, withTenant, type Pool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { Receiver } from '@gatehouse/test/receiver';
import { removableChannels } from '../src/channels/channel-system-store.ts';
import { ConversationQueue } from '../src/conversations/conversation-queue-store.ts';
import {
  deleteEmptyConversations,
  expiredKeys,
  findOverdueConversations,
} from '../src/conversations/conversation-system-store.ts';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { tasks } from '../src/shared/tasks.ts';
import { deleteEmpty, MessageStore, noteWoken } from '../src/conversations/message-store.ts';
import { removeDeleted } from '../src/shared/removal-system-store.ts';
import { TurnStore } from '../src/conversations/turn-store.ts';
import { createChannel, makeChannel, write, written, type TestChannel } from './channels-under-test.ts';
import { WebhookServiceUnderTest, type TestTenant } from './webhook-service.ts';

let webhooks: WebhookServiceUnderTest;
let receiver: Receiver;
let tenant: TestTenant;
let channel: TestChannel;
let app: Pool;
let system: Pool;

beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start({ EGRESS_ALLOW: '127.0.0.1' });
  receiver = await Receiver.start();
  const log = createLogger('test', 'silent');
  const { url } = webhooks.database;
  app = createPool({ url, role: 'webhook_app', max: 4, log });
  system = createPool({ url, role: 'webhook_system', max: 2, log });
});
beforeEach(async () => {
  receiver.received.splice(0);
  receiver.answer = () => ({ status: 200 });
  webhooks.chat.gate = Promise.resolve();
  tenant = webhooks.makeTenant();
  channel = await makeChannel(webhooks, tenant, {
    ...{ type: 'generic', config: { callback_url: receiver.url('/') } },
  });
});
afterAll(async () => {
  await Promise.all([app.end(), system.end()]);
  await webhooks.stop();
  await receiver.stop();
});

const replies = (count: number) =>
  eventually(() => {
    expect(receiver.received).toHaveLength(count);
    return receiver.received.map(({ body }) => (JSON.parse(body) as { data: { text: string } }).data.text);
  });
const count = async (table: string): Promise<number> => {
  const [row] = await webhooks.rows<{ count: string }>(
    `select count(*) from webhook.${table} where tenant_id = $1`,
    [tenant.id],
  );
  return Number(row?.count);
};
const forget = async (requestedAtMs: number) => {
  const request = { tenantId: tenant.id, userId: `generic:${channel.id}:ann`, deletionId: newId() };
  const peer = await webhooks.peer('tenant');
  return peer.call('forgetUser', { ...request, requestedAtMs: BigInt(requestedAtMs) }, { deadlineMs: 5_000 });
};
const getChannel = async () =>
  (await webhooks.call('GET', `/v1/channels/instances/${channel.id}`, { as: tenant.admin })).body;
const newMessage = (externalId: string) => ({
  ...{ id: newId(), tenantId: tenant.id, instanceId: channel.id, externalId, keys: [externalId] },
  conversation: { id: newId(), externalId: 'with-ann', group: false },
  ...{ userId: 'ann', senderName: null, text: null, textBytes: 0, hasAttachment: false, position: null },
  hops: 0,
  retentionDays: 30,
});

describe('a message', () => {
  it('that is being stored keeps its conversation from being cleaned up', async () => {
    const store = new MessageStore(app);
    await store.take(newMessage('first'), () => Promise.resolve());
    await webhooks.rows('delete from webhook.channel_messages where tenant_id = $1', [tenant.id]);
    let cleaning: Promise<number> = Promise.resolve(0);
    await store.take(newMessage('second'), async (_db, conversationId) => {
      cleaning = withTenant(app, tenant.id, (db) => deleteEmpty(db, [conversationId]));
      await sleep(300);
    });
    expect(await cleaning).toBe(0);
    expect(await count('channel_messages')).toBe(1);
  });

  it('that was deleted is not taken again', async () => {
    const message = written('once');
    await write(webhooks, channel, message);
    await replies(1);
    await forget(Date.now() + 1_000);
    expect((await write(webhooks, channel, message)).body.status).toBe('duplicate');
    expect(await count('channel_messages')).toBe(0);
  });

  it('whose run is stopped is answered by the sentence of a failure, and not asked again', async () => {
    webhooks.chat.prepare('stopped', new AppError('run_stopped', 'The run was stopped.'));
    await write(webhooks, channel, written('stopped'));
    expect(await replies(1)).toEqual([(await getChannel()).replies.failure]);
    const asked = webhooks.chat.runs.filter(({ delegation }) => delegation?.tenantId === tenant.id);
    expect(asked).toHaveLength(1);
  });

  it('blocked by a guardrail is answered by its message, and not asked again', async () => {
    webhooks.chat.prepare('blocked', new AppError('content_blocked', 'No addresses.'));
    await write(webhooks, channel, written('blocked'));
    expect(await replies(1)).toEqual(['No addresses.']);
    const asked = webhooks.chat.runs.filter(({ delegation }) => delegation?.tenantId === tenant.id);
    expect(asked).toHaveLength(1);
    const incoming = "select status from webhook.channel_messages where tenant_id = $1 and direction = 'in'";
    expect(await webhooks.rows(incoming, [tenant.id])).toEqual([{ status: 'answered' }]);
  });

  it('adds no job to the one that waits through an outage, and is answered after it', async () => {
    const outage = new AppError('service_unavailable', 'Try again.');
    webhooks.chat.prepare('through an outage', outage, outage, outage);
    const waiting = () =>
      webhooks.rows<{ name: string; state: string }>(
        `select name, state::text from webhook_jobs.job_common
         where group_id = $1 and name = 'converse' and state <> 'active'`,
        [tenant.id],
      );
    await write(webhooks, channel, written('through an outage'));
    await eventually(async () => expect(await waiting()).toMatchObject([{ state: 'retry' }]));
    const jobs = new Jobs({ service: 'webhook', tasks, system, log: createLogger('test', 'silent') });
    const queue = new ConversationQueue(jobs);
    const [row] = await webhooks.rows<{ id: string }>(
      'select id from webhook.conversations where tenant_id = $1',
      [tenant.id],
    );
    for (let round = 0; round < 3; round += 1) {
      await write(webhooks, channel, written(`message ${round}`));
      // As the upkeep does.
      await withTenant(app, tenant.id, (db) => queue.answer(db, { tenantId: tenant.id, id: row?.id ?? '' }));
      expect((await waiting()).length).toBeLessThanOrEqual(1);
    }
    const texts = await replies(2);
    expect(texts[0]).toContain('through an outage');
    expect(texts[1]).toContain('message 2');
    await eventually(async () => expect(await waiting()).toEqual([]));
  });

  it('is forgotten with the turn that began after the request', async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
    webhooks.chat.gate = gate;
    await write(webhooks, channel, written('forgotten'));
    const requestedAtMs = Date.now();
    await eventually(async () => expect(await count('channel_turns')).toBe(1));
    expect((await forget(requestedAtMs)).completed).toBe(true);
    expect(await count('channel_turns')).toBe(0);
    open(undefined);
    await sleep(1_500);
    expect([receiver.received, await count('channel_messages')]).toEqual([[], 0]);
  });

  it('that is no longer there is not begun', async () => {
    const store = new MessageStore(app);
    const id = (await store.take(newMessage('gone'), () => Promise.resolve()))?.id;
    const [row] = await webhooks.rows<{ id: string }>(
      'select id from webhook.conversations where tenant_id = $1',
      [tenant.id],
    );
    const conversation = {
      ...{
        id: row?.id ?? '',
        tenantId: tenant.id,
        instanceId: channel.id,
        externalId: 'with-ann',
        isGroup: false,
      },
    };
    const turn = { id: newId(), userId: 'ann', agentId: tenant.agentId, request: null };
    const begun = await new TurnStore(app).begin(conversation, {
      ...{ ...turn, hasAttachment: false, hops: 0, messageIds: [id ?? '', newId()] },
    });
    expect([begun, await count('channel_turns')]).toEqual([false, 0]);
  });

  it('of a group is apart from a private one with the same id', async () => {
    await write(webhooks, channel, written('private'));
    await replies(1);
    await write(webhooks, channel, written('in the group', { user: { id: 'bob' }, group: true }));
    await replies(2);
    const { request } = webhooks.chat.runs.findLast(({ request: { requestJson } }) =>
      requestJson.includes('in the group'),
    ) ?? { request: null };
    expect(request?.group).toBe(true);
    expect(request?.requestJson).not.toContain('private');
  });

  it('of a sender with a long id acts for a user who can be deleted', async () => {
    await write(webhooks, channel, written('long', { user: { id: 'ờ'.repeat(255) } }));
    await replies(1);
    const [row] = await webhooks.rows<{ user: string }>(
      'select user_id as user from webhook.conversations where tenant_id = $1',
      [tenant.id],
    );
    expect(row?.user).toMatch(/^generic:[0-9a-f-]{36}:sha256:[0-9a-f]{64}$/);
  });
});

describe('the history of a turn', () => {
  it('is read only as far as its tokens reach', async () => {
    const store = new MessageStore(app);
    for (let n = 0; n < 5; n += 1)
      await store.take({ ...newMessage(`m${n}`), text: Buffer.from('x'), textBytes: 1_000 }, () =>
        Promise.resolve(),
      );
    await webhooks.rows(`update webhook.channel_messages set status = 'answered' where tenant_id = $1`, [
      tenant.id,
    ]);
    const [row] = await webhooks.rows<{ id: string }>(
      'select id from webhook.conversations where tenant_id = $1',
      [tenant.id],
    );
    const turns = new TurnStore(app);
    const conversation = {
      ...{ id: row?.id ?? '', tenantId: tenant.id, instanceId: channel.id, externalId: 'x', isGroup: false },
    };
    expect(await turns.earlier(conversation, 2_500)).toHaveLength(3);
    expect(await turns.earlier(conversation, 0)).toEqual([]);
  });
});

describe('a receiver that wants to be left alone', () => {
  const conversationOf = (body: string) =>
    (JSON.parse(body) as { data: { conversation_id: string } }).data.conversation_id;

  it('gets nothing in that conversation for so long, a day at most, and all of the others', async () => {
    receiver.answer = (_path, _attempt, { body }) =>
      conversationOf(body) === 'busy'
        ? { status: 429, headers: { 'retry-after': '999999999' } }
        : { status: 200 };
    await write(webhooks, channel, written('to be paused', { conversation_id: 'busy' }));
    await eventually(() => expect(receiver.received).toHaveLength(1));
    await write(webhooks, channel, written('beside it'));
    await eventually(() => expect(receiver.received).toHaveLength(2));
    expect(receiver.received.map(({ body }) => conversationOf(body))).toEqual(['busy', 'with-ann']);
    expect((await getChannel()).status).toBe('connected');
    const [row] = await webhooks.rows<{ hours: number }>(
      `select extract(epoch from due_at - now()) / 3600 as hours from webhook.channel_messages
       where tenant_id = $1 and status = 'queued'`,
      [tenant.id],
    );
    expect(Number(row?.hours)).toBeGreaterThan(23.9);
    expect(Number(row?.hours)).toBeLessThanOrEqual(24);
  });
});

describe('upkeep', () => {
  it('finds an overdue conversation however many others are stuck', async () => {
    await webhooks.rows(
      `with c as (
         insert into webhook.conversations (id, tenant_id, instance_id, external_id, is_group)
         select gen_random_uuid(), tenant_id, id, n::text, false
         from webhook.channel_instances, generate_series(1, 1200) as n where id = $1 returning id, tenant_id, instance_id)
       insert into webhook.channel_messages (id, tenant_id, instance_id, conversation_id, direction, text_bytes, status,
         due_at, expires_at)
       select gen_random_uuid(), tenant_id, instance_id, id, 'in', 0, 'received', now() - interval '1 day',
         now() + interval '1 day' from c`,
      [channel.id],
    );
    const stuck = tenant.id;
    webhooks.tenant.settings.set(stuck, { status: 'suspended' });
    tenant = webhooks.makeTenant();
    channel = await makeChannel(webhooks, tenant, {
      type: 'generic',
      config: { callback_url: receiver.url('/') },
    });
    await new MessageStore(app).take(newMessage('late'), () => Promise.resolve());
    await webhooks.rows(
      `update webhook.channel_messages set due_at = now() - interval '1 minute' where tenant_id = $1`,
      [tenant.id],
    );
    const found = new Set<string>();
    for (let round = 0; round < 3; round += 1)
      for (const { tenantId, conversationId } of await findOverdueConversations(system, {
        seconds: 15,
        limit: 500,
      })) {
        found.add(tenantId);
        await withTenant(app, tenantId, (db) => noteWoken(db, conversationId));
      }
    expect([...found]).toEqual(expect.arrayContaining([stuck, tenant.id]));
    await webhooks.rows('delete from webhook.conversations where tenant_id = $1', [stuck]);
    webhooks.tenant.settings.delete(stuck);
  });

  it('deletes keys of messages that have expired', async () => {
    await write(webhooks, channel, written('old'));
    await replies(1);
    const keys = 'webhook.channel_message_keys';
    await webhooks.rows(`update ${keys} set expires_at = now() where instance_id = $1`, [channel.id]);
    await deleteOldRows(system, expiredKeys);
    expect(await webhooks.rows(`select from ${keys} where instance_id = $1`, [channel.id])).toEqual([]);
  });

  it('deletes conversations without messages in which nothing has happened for a day', async () => {
    for (const text of ['kept', 'quiet', 'recent'])
      await new MessageStore(app).take(
        { ...newMessage(text), conversation: { id: newId(), externalId: text, group: false } },
        () => Promise.resolve(),
      );
    const of = 'where tenant_id = $1 and external_id = $2';
    const past = `update webhook.conversations set last_message_at = now() - interval '25 hours' ${of}`;
    for (const name of ['kept', 'quiet']) await webhooks.rows(past, [tenant.id, name]);
    const empty = `delete from webhook.channel_messages where conversation_id in (
      select id from webhook.conversations ${of})`;
    for (const name of ['quiet', 'recent']) await webhooks.rows(empty, [tenant.id, name]);
    expect(await deleteEmptyConversations({ app, system })).toBe(false);
    const left = 'select external_id as name from webhook.conversations where tenant_id = $1 order by 1';
    expect(await webhooks.rows(left, [tenant.id])).toEqual([{ name: 'kept' }, { name: 'recent' }]);
  });

  it('removes a deleted channel in batches', async () => {
    await webhooks.rows(
      `insert into webhook.conversations (id, tenant_id, instance_id, external_id, is_group)
       select gen_random_uuid(), tenant_id, id, n::text, false
       from webhook.channel_instances, generate_series(1, 25) as n where id = $1`,
      [channel.id],
    );
    await write(webhooks, channel, written('to be removed'));
    await webhooks.call('DELETE', `/v1/channels/instances/${channel.id}`, { as: tenant.admin });
    expect(await removeDeleted(system, removableChannels, 10)).toBe(10);
    expect(await count('channel_instances')).toBe(1);
    while ((await removeDeleted(system, removableChannels, 10)) === 10);
    await removeDeleted(system, removableChannels, 10);
    for (const table of ['channel_instances', 'conversations', 'channel_messages'])
      expect([table, await count(table)]).toEqual([table, 0]);
    const keys = 'select key from webhook.channel_message_keys where instance_id = $1';
    expect(await webhooks.rows(keys, [channel.id])).toEqual([]);
  });
});

it('a tenant has a hundred channels at most', async () => {
  await webhooks.rows(
    `insert into webhook.channel_instances (id, tenant_id, type, name, agent_id, enabled, history_tokens, replies, config,
       credentials, status)
     select gen_random_uuid(), tenant_id, type, name, agent_id, enabled, history_tokens, replies, config, credentials,
       status from webhook.channel_instances, generate_series(1, 99) where id = $1`,
    [channel.id],
  );
  const config = { callback_url: receiver.url('/') };
  const { status, body } = await createChannel(webhooks, tenant, { type: 'generic', config });
  expect([status, body.error.code]).toEqual([403, 'limit_reached']);
});
