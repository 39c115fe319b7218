import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { Receiver } from '@gatehouse/test/receiver';
import type { Service } from '@gatehouse/shell/service';
import { Webhook } from 'standardwebhooks';
import {
  createChannel,
  makeChannel,
  messagesOf,
  postMessage,
  write,
  written,
  type TestChannel,
} from './channels-under-test.ts';
import { signed } from '@gatehouse/test/webhook-senders';
import { burst } from '../src/conversations/burst.ts';
import { WebhookServiceUnderTest, type TestTenant } from './webhook-service.ts';

let webhooks: WebhookServiceUnderTest;
let replica: Service;
let receiver: Receiver;
let tenant: TestTenant;
let channel: TestChannel;
let burstS: number;

beforeAll(async () => {
  webhooks = await WebhookServiceUnderTest.start({
    EGRESS_ALLOW: '127.0.0.1',
    PUBLIC_URL: 'https://gateway.example.com',
  });
  burstS = burst.seconds;
  replica = await webhooks.startReplica();
  receiver = await Receiver.start();
  tenant = webhooks.makeTenant();
});
beforeEach(async () => {
  burst.seconds = burstS;
  receiver.received.splice(0);
  receiver.answer = () => ({ status: 200 });
  channel = await generic();
});
afterAll(async () => {
  await replica.stop();
  await webhooks.stop();
  await receiver.stop();
});

/** Makes bursts as long as in production for this test. */
function longBursts(): void {
  burst.seconds = 2;
}

/** A channel whose replies go to a path of its own. */
const generic = (fields: Record<string, unknown> = {}) =>
  makeChannel(webhooks, tenant, {
    ...{ type: 'generic', config: { callback_url: receiver.url(`/${newId()}`) } },
    ...fields,
  });
const pathOf = ({ config }: TestChannel) =>
  new URL((config as { callback_url: string }).callback_url).pathname;
const instance = (id: string) => `/v1/channels/instances/${id}`;

interface Sent {
  type: string;
  timestamp: string;
  data: { message_id: string; conversation_id: string; in_reply_to: string[]; text: string };
}

/** The replies of a channel that have arrived, when there are so many. */
const replies = (count: number, of = channel, withinMs?: number): Promise<Sent['data'][]> =>
  eventually(() => {
    const data = receiver.at(pathOf(of)).map(({ body }) => (JSON.parse(body) as Sent).data);
    expect(data).toHaveLength(count);
    return data;
  }, withinMs);

describe('a channel', () => {
  it('is created, listed, changed and deleted, and never shows its credentials', async () => {
    const own = webhooks.makeTenant();
    const as = own.admin;
    const config = { callback_url: 'https://93.184.215.14/replies' };
    const { status, body: made } = await createChannel(webhooks, own, { type: 'generic', config });
    expect(status).toBe(201);
    const { secret, ...shown } = made;
    expect(secret).toMatch(/^whsec_/);
    expect(shown).toMatchObject({ type: 'generic', config, status: 'connected', status_reason: null });
    expect(shown.webhook_url).toBe(`https://gateway.example.com/v1/webhooks/message?channel=${made.id}`);
    expect((await webhooks.call('GET', instance(made.id), { as })).body).toEqual(shown);
    const list = await webhooks.call('GET', '/v1/channels/instances', { as });
    expect(list.body.data).toEqual([shown]);
    const patch = {
      enabled: false,
      replies: { failure: null },
      config: { callback_url: 'https://93.184.215.14/' },
    };
    const { body: patched } = await webhooks.call('PATCH', instance(made.id), { as, body: patch });
    expect(patched).toMatchObject({ status: 'disabled', config: patch.config });
    expect(patched.replies).toEqual({ ...shown.replies, failure: null });
    expect((await webhooks.call('DELETE', instance(made.id), { as })).status).toBe(204);
    expect((await webhooks.call('GET', instance(made.id), { as })).status).toBe(404);
    const audited = await eventually(() => {
      const entries = webhooks.tenant.entries.filter(({ tenant_id: id }) => id === own.id);
      expect(entries).toHaveLength(3);
      return entries;
    });
    expect(JSON.stringify(audited)).not.toContain(secret);
  });

  it.each([
    ['an unknown type', { type: 'fax' }, 'type'],
    [
      'a private callback',
      { type: 'generic', config: { callback_url: 'https://10.0.0.1/' } },
      'config.callback_url',
    ],
    ['a malformed secret', { type: 'generic', credentials: { secret: 'whsec_short' } }, 'credentials.secret'],
    [
      'no token',
      { type: 'telegram', credentials: { secret_token: 'x'.repeat(20) } },
      'credentials.bot_token',
    ],
    ['an agent of another tenant', { type: 'generic', agent_id: newId() }, 'agent_id'],
  ])('with %s is refused', async (_what, fields, param) => {
    const config = { callback_url: 'https://93.184.215.14/' };
    const { status, body } = await createChannel(webhooks, tenant, {
      ...(fields.type === 'generic' && { config }),
      ...fields,
    });
    expect([status, body.error.param]).toEqual([400, param]);
  });

  it('of another tenant does not exist', async () => {
    const as = webhooks.makeTenant().admin;
    await write(webhooks, channel, written('private'));
    for (const path of [instance(channel.id), `${instance(channel.id)}/conversations`])
      expect((await webhooks.call('GET', path, { as })).status).toBe(404);
    expect((await webhooks.call('DELETE', instance(channel.id), { as })).status).toBe(404);
  });
});

describe('a message', () => {
  it('is stored, answered as its sender with the history, and the reply is sent, signed', async () => {
    const first = written('Where is my order?');
    const { status, body } = await write(webhooks, channel, first);
    expect([status, body.status]).toEqual([202, 'accepted']);
    const [reply] = await replies(1);
    expect(reply).toEqual({
      message_id: expect.any(String),
      conversation_id: 'with-ann',
      in_reply_to: [first.message_id],
      text: 'echo: Where is my order?',
    });
    const [sent] = receiver.at(pathOf(channel));
    new Webhook(channel.secret).verify(sent?.body ?? '', sent?.headers as Record<string, string>);
    const [run] = webhooks.chat.runsOf('Where is my order?');
    expect(run?.delegation).toEqual({
      tenantId: tenant.id,
      agentId: tenant.agentId,
      userId: `generic:${channel.id}:ann`,
    });
    expect(run?.request.channel).toBe('generic');
    await write(webhooks, channel, written('And the second one?'));
    await replies(2);
    const [second] = webhooks.chat.runsOf('And the second one?');
    expect((JSON.parse(second?.request.requestJson ?? '') as { messages: unknown }).messages).toEqual([
      { role: 'user', content: 'Where is my order?' },
      { role: 'assistant', content: 'echo: Where is my order?' },
      { role: 'user', content: 'And the second one?' },
    ]);
    await eventually(async () =>
      expect(
        (await messagesOf(webhooks, channel)).map(({ direction, text, status: is }) => [direction, text, is]),
      ).toEqual([
        ['in', 'Where is my order?', 'answered'],
        ['out', 'echo: Where is my order?', 'sent'],
        ['in', 'And the second one?', 'answered'],
        ['out', 'echo: And the second one?', 'sent'],
      ]),
    );
  });

  it('that comes ten times at once, to two replicas, is answered once', async () => {
    const message = written('only once');
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        write(webhooks, channel, message, n % 2 === 0 ? undefined : replica.httpPort),
      ),
    );
    expect(answers.map(({ body }) => body.status).sort()).toEqual([
      'accepted',
      ...Array<string>(9).fill('duplicate'),
    ]);
    expect(new Set(answers.map(({ body }) => body.message_id)).size).toBe(1);
    await replies(1);
    expect((await write(webhooks, channel, message)).body.status).toBe('duplicate');
    expect(webhooks.chat.runsOf('only once')).toHaveLength(1);
  });

  it('may name its channel in capitals', async () => {
    const config = { callback_url: receiver.url('/capitals') };
    const own = await makeChannel(webhooks, tenant, { type: 'generic', config });
    const answer = await write(webhooks, { ...own, id: own.id.toUpperCase() }, written('loud'));
    expect(answer.body.status).toBe('accepted');
    expect((await replies(1, own))[0]?.text).toBe('echo: loud');
  });

  it('is one turn with those that its sender writes within two seconds', async () => {
    longBursts();
    await write(webhooks, channel, written('first'));
    await write(webhooks, channel, written('of Bob', { user: { id: 'bob' } }));
    await write(webhooks, channel, written('second'));
    const [one, other] = await replies(2);
    expect([one?.text, other?.text]).toEqual(['echo: first\nsecond', 'echo: of Bob']);
    expect(one?.in_reply_to).toHaveLength(2);
  });

  it('in a group is answered without the memory of its sender', async () => {
    const group = { conversation_id: 'team', group: true, user: { id: 'ann', name: 'Ann' } };
    await write(webhooks, channel, written('in a group', group));
    await replies(1);
    const [run] = webhooks.chat.runsOf('Ann: in a group');
    expect(run?.request.group).toBe(true);
    const { body } = await webhooks.call('GET', `${instance(channel.id)}/conversations`, {
      as: tenant.admin,
    });
    expect(body.data).toMatchObject([{ external_id: 'team', group: true, user_id: null }]);
  });

  it('that is not genuine gets 401, whatever is wrong', async () => {
    const message = written('forged');
    const body = JSON.stringify(message);
    const headers = signed({ scheme: 'standard', secret: channel.secret }, body, { id: message.message_id });
    const disabled = await generic({ enabled: false });
    const attempts = [
      postMessage(webhooks, channel.id, { headers: {}, body }),
      postMessage(webhooks, channel.id, { headers, body: `${body} ` }),
      postMessage(webhooks, newId(), { headers, body }),
      postMessage(webhooks, 'none', { headers, body }),
      write(webhooks, disabled, message),
    ];
    const answers = await Promise.all(attempts);
    expect(new Set(answers.map(({ status, body: { error } }) => `${status} ${error.code}`))).toEqual(
      new Set(['401 signature_invalid']),
    );
    expect(webhooks.chat.runsOf('forged')).toEqual([]);
  });

  it.each([
    ['another type', { text: 7 }, 'text'],
    ['no conversation', { conversation_id: undefined }, 'conversation_id'],
  ])('with %s is refused with the field', async (_what, fields, param) => {
    const answer = await write(webhooks, channel, written('x', fields as object));
    expect([answer.status, answer.body.error.param]).toEqual([400, param]);
  });
});

it('answers a message of a tenant that was suspended meanwhile', async () => {
  // The service reads settings of a tenant again after a second.
  longBursts();
  const own = webhooks.makeTenant();
  const config = { callback_url: receiver.url('/suspended') };
  const theirs = await makeChannel(webhooks, own, { type: 'generic', config });
  await write(webhooks, theirs, written('while suspended'));
  webhooks.tenant.settings.set(own.id, { status: 'suspended' });
  await sleep(4_000);
  expect((await write(webhooks, theirs, written('refused'))).status).toBe(403);
  expect(webhooks.chat.runsOf('while suspended')).toEqual([]);
  webhooks.tenant.settings.delete(own.id);
  await webhooks.rows(
    `update webhook.channel_messages set due_at = now() - interval '1 hour' where instance_id = $1`,
    [theirs.id],
  );
  const texts = await eventually(
    async () => {
      // It is woken once a minute otherwise, and the first time the suspension may still be cached.
      await webhooks.rows('update webhook.conversations set woken_at = null where instance_id = $1', [
        theirs.id,
      ]);
      return (await replies(1, theirs, 1)).map(({ text }) => text);
    },
    90_000,
    500,
  );
  expect(texts).toEqual(['echo: while suspended']);
});

describe('an agent that fails', () => {
  it('is answered with a sentence', async () => {
    webhooks.chat.prepare('fails', new AppError('agent_disabled', 'The agent is disabled.'));
    const own = await generic({ replies: { failure: 'Oh no.' } });
    await write(webhooks, own, written('fails'));
    expect((await replies(1, own))[0]?.text).toBe('Oh no.');
  });

  it('because a budget is spent says so once', async () => {
    for (const text of ['one', 'two']) {
      webhooks.chat.prepare(text, new AppError('insufficient_quota', 'The budget is spent.'));
      await write(webhooks, channel, written(text));
      await eventually(async () => {
        const messages = await messagesOf(webhooks, channel);
        expect(messages.find((message) => message.text === text)?.status).toBe('failed');
      });
    }
    expect(await replies(1)).toMatchObject([{ text: expect.stringContaining('try again later') }]);
  });
});

describe('a receiver that fails', () => {
  it('gets every reply afterwards, in order', async () => {
    receiver.answer = () => ({ status: 500 });
    for (const text of ['a', 'b', 'c']) {
      await write(webhooks, channel, written(text));
      await eventually(() => expect(webhooks.chat.runsOf(text).length).toBeGreaterThan(0));
    }
    await eventually(async () => {
      const { body } = await webhooks.call('GET', instance(channel.id), { as: tenant.admin });
      expect(body).toMatchObject({ status: 'error', status_reason: 'The callback URL responds with 500.' });
    });
    receiver.received.splice(0);
    receiver.answer = () => ({ status: 200 });
    expect((await replies(3)).map(({ text }) => text)).toEqual(['echo: a', 'echo: b', 'echo: c']);
    await eventually(async () => {
      const { body } = await webhooks.call('GET', instance(channel.id), { as: tenant.admin });
      expect(body.status).toBe('connected');
    });
  });

  it('does not hold up other conversations', async () => {
    const slow = await generic();
    receiver.answer = (path) => (path === pathOf(slow) ? 'nothing' : { status: 200 });
    await write(webhooks, slow, written('held'));
    await replies(1, slow);
    await write(webhooks, channel, written('free'));
    await replies(1);
  });
});

it('removes what a user has written, with the replies', async () => {
  await write(webhooks, channel, written('forget me'));
  await write(webhooks, channel, written('keep me', { user: { id: 'bob' }, conversation_id: 'with-bob' }));
  await replies(2);
  const peer = await webhooks.peer('tenant');
  const request = {
    ...{ tenantId: tenant.id, userId: `generic:${channel.id}:ann`, deletionId: newId() },
    requestedAtMs: BigInt(Date.now() + 1_000),
  };
  const { counts } = await peer.call('forgetUser', request, { deadlineMs: 5_000 });
  expect(counts).toEqual({ webhook_calls: 0n, channel_messages: 2n });
  expect(await messagesOf(webhooks, channel)).toEqual([]);
  expect(await messagesOf(webhooks, channel, 'with-bob')).toHaveLength(2);
});

it('two channels that answer each other stop after eight hops, and the ninth is not tried again', async () => {
  let channels: TestChannel[] = [];
  const statuses: number[] = [];
  // Writes each reply of one channel to the other, as a bridge between two systems does.
  receiver.answer = async (path, _attempt, { body, headers }) => {
    const from = channels.findIndex((each) => pathOf(each) === path);
    const to = from === -1 ? undefined : channels[1 - from];
    if (to === undefined) return { status: 200 };
    const { data } = JSON.parse(body) as Sent;
    const text = JSON.stringify(written(data.text.slice(0, 100), { message_id: data.message_id }));
    const proof = signed({ scheme: 'standard', secret: to.secret }, text, { id: data.message_id });
    const answer = await postMessage(webhooks, to.id, {
      ...{ body: text, headers: { ...proof, 'gatehouse-hops': String(headers['gatehouse-hops']) } },
    });
    statuses.push(answer.status);
    return { status: answer.status, headers: Object.fromEntries(answer.headers) };
  };
  channels = [channel, await generic()];
  await write(webhooks, channel, written('begin'));
  await eventually(() => expect(statuses).toContain(403), 90_000);
  expect(statuses).toEqual([...Array<number>(8).fill(202), 403]);
  await eventually(async () => {
    const sent = (await Promise.all(channels.map((each) => messagesOf(webhooks, each))))
      .flat()
      .filter(({ direction }) => direction === 'out');
    expect(sent.map(({ status }) => status).sort()).toEqual(['failed', ...Array<string>(8).fill('sent')]);
  });
});
