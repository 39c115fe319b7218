import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { signed } from '@gatehouse/test/webhook-senders';
import { Webhook } from 'standardwebhooks';
import {
  all,
  ask,
  begin,
  carryOut,
  ended,
  gateway,
  holdWebhook,
  make,
  makeAgent,
  mcpServer,
  newTenants,
  preview,
  receiver,
  source,
  startGround,
  stopGround,
  target,
} from './transfer-ground.ts';

/** Channels and webhook endpoints that move to another tenant with their agent, and what arrives meanwhile. */

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const conversation = 'with-ann';
let made: Awaited<ReturnType<typeof makeAgent>>;
let endpoint: string;
let channelSecret: string;
let resources: { type: string; id: string }[];

beforeAll(startGround);
beforeEach(async () => {
  await newTenants();
  receiver.received.length = 0;
  made = await makeAgent();
  endpoint = await make('/v1/webhooks/endpoints', {
    ...{ name: 'Signed', agent_id: made.agent, secret, callback_url: receiver.url('/results') },
  });
  resources = [...all(made), { type: 'webhook_endpoint', id: endpoint }];
  const channel = await gateway.call('/v1/channels/instances', {
    key: source.adminKey,
    body: {
      ...{ name: 'Chat', type: 'generic', agent_id: made.agent, credentials: {} },
      config: { callback_url: receiver.url('/replies') },
    },
  });
  const { id } = channel.body as { id: string };
  channelSecret = (channel.body as { secret: string }).secret;
  made.channel = id;
  resources.push({ type: 'channel_instance', id });
});
afterAll(stopGround);

async function post(path: string, body: string, headers: Record<string, string>) {
  const response = await fetch(gateway.url + path, {
    ...{ method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } },
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

function write(text: string, id = newId()) {
  const body = JSON.stringify({ message_id: id, conversation_id: conversation, user: { id: 'ann' }, text });
  const headers = signed({ scheme: 'standard', secret: channelSecret }, body, { id });
  return post(`/v1/webhooks/message?channel=${made.channel}`, body, headers);
}

function deliver(input: string, fields: object = {}, id = newId()) {
  const body = JSON.stringify({ input, ...fields });
  const headers = signed({ scheme: 'standard', secret }, body, { id });
  return post(`/v1/webhooks/llm?endpoint=${endpoint}`, body, headers);
}

/** The replies in the channel, with the messages that they answer. */
const replies = () =>
  receiver
    .at('/replies')
    .map(({ body }) => (JSON.parse(body) as { data: { in_reply_to: string[]; text: string } }).data);
const results = () =>
  receiver.at('/results').map(({ body }) => {
    const { type, data } = JSON.parse(body) as { type: string; data: { call_id: string } };
    return [type, data.call_id];
  });

async function list<Row>(path: string, { adminKey }: { adminKey: string }): Promise<Row[] | number> {
  const answer = await gateway.call(path, { key: adminKey });
  return answer.status === 200 ? (answer.body as { data: Row[] }).data : answer.status;
}

/** Counts of a tenant's rows in the webhook service. */
async function rowsOf({ id }: { id: string }): Promise<Record<string, number>> {
  const tables = [
    ...['endpoints', 'calls', 'deliveries', 'delivery_attempts', 'channel_instances'],
    ...['conversations', 'channel_turns', 'channel_messages'],
  ];
  const counts = tables.map(
    (table) => `(select count(*)::integer from webhook.${table} where tenant_id = $1) as ${table}`,
  );
  const [row] = await gateway.rows('webhook', `select ${counts.join(', ')}`, [id]);
  return row as Record<string, number>;
}

/** Begins a move, and resolves when its channels and endpoints are closed. */
async function closing(): Promise<string> {
  const { body } = await preview(resources, { mode: 'move' });
  const begun = await begin(body.id);
  expect(begun.status).toBe(202);
  const closed =
    'select 1 from webhook.endpoints as e, webhook.channel_instances as i where e.closed and i.closed and e.id = $1 and i.id = $2';
  await eventually(async () =>
    expect(await gateway.rows('webhook', closed, [endpoint, made.channel])).toHaveLength(1),
  );
  return begun.body.id;
}

it('take their history along, and are what they were', async () => {
  const [firstMessage, firstDelivery] = [newId(), newId()];
  expect((await write('Where is my order?', firstMessage)).status).toBe(202);
  const call = await deliver('Is the disk full?', { mode: 'sync', user_id: 'ann' }, firstDelivery);
  expect(call).toMatchObject({ status: 200, body: { agent_id: made.agent } });
  const queued = await deliver('Is the other one full?', { mode: 'async' });
  expect(queued.status).toBe(202);
  await eventually(() => expect([replies().length, results().length]).toEqual([1, 1]), 30_000);
  // A turn that could not be answered yet.
  await gateway.rows(
    'webhook',
    `insert into webhook.channel_turns (id, tenant_id, conversation_id, user_id, agent_id, has_attachment)
     select gen_random_uuid(), tenant_id, id, 'ann', $2, false from webhook.conversations where instance_id = $1`,
    [made.channel, made.agent],
  );
  const before = await rowsOf(source);
  expect(before['channel_turns']).toBe(1);

  const { body } = await preview(resources, { mode: 'move' });
  expect(body.problems).toEqual([]);
  const countsOf = (id: string) => body.resources.find((resource) => resource.id === id)?.counts;
  expect(countsOf(endpoint)).toEqual({ calls: 2 });
  expect(countsOf(made.channel)).toEqual({ conversations: 1, messages: 2 });
  expect(await ended((await begin(body.id)).body.id)).toMatchObject({ status: 'completed', error: null });

  expect(await rowsOf(target)).toEqual(before);
  expect(Object.values(await rowsOf(source)).every((count) => count === 0)).toBe(true);
  await gateway.rows('webhook', 'delete from webhook.channel_turns where tenant_id = $1', [target.id]);
  const shown = await gateway.call(`/v1/webhooks/calls/${String(queued.body['call_id'])}`, {
    key: target.adminKey,
  });
  expect(shown.body).toMatchObject({ status: 'succeeded', deliveries: [{ status: 'delivered' }] });
  expect((shown.body as { output: string }).output).not.toBe('');
  const conversations = `/v1/channels/instances/${made.channel}/conversations`;
  const [first] = (await list<{ id: string }>(conversations, target)) as { id: string }[];
  const messages = await list<object>(`${conversations}/${first?.id ?? ''}/messages`, target);
  expect(messages).toMatchObject([
    { direction: 'out', text: replies()[0]?.text },
    { direction: 'in', text: 'Where is my order?' },
  ]);
  expect(await list(conversations, source)).toBe(404);
  expect(await list(`/v1/webhooks/endpoints/${endpoint}/calls`, source)).toBe(404);

  // Repeats are known, and senders notice nothing.
  expect((await write('Where is my order?', firstMessage)).body).toMatchObject({ status: 'duplicate' });
  const again = await deliver('Is the disk full?', { mode: 'sync', user_id: 'ann' }, firstDelivery);
  expect(again).toEqual({ status: 200, body: call.body });
  expect((await write('And now?')).status).toBe(202);
  await eventually(() => expect(replies()).toHaveLength(2), 30_000);
  expect((await rowsOf(source))['channel_messages']).toBe(0);
});

it('keep a secret that was replaced for its time, and are not held up by one that has expired', async () => {
  const patch = (path: string, body: object) =>
    gateway.call(path, { method: 'PATCH', key: source.adminKey, body });
  const rotated = await gateway.call(`/v1/webhooks/endpoints/${endpoint}/rotate-secret`, {
    ...{ key: source.adminKey, body: { secret, overlap_seconds: 3_600 } },
  });
  expect(rotated.body).toMatchObject({ previous_secret_expires_at: expect.any(String) });
  const next = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
  await patch(`/v1/webhooks/endpoints/${endpoint}`, { callback_secret: next });
  await patch(`/v1/webhooks/endpoints/${endpoint}`, {
    ...{ callback_secret: `whsec_${Buffer.alloc(32, 9).toString('base64')}` },
  });
  await patch(`/v1/channels/instances/${made.channel}`, {
    ...{ credentials: { secret: next }, overlap_seconds: 3_600 },
  });
  await gateway.rows(
    'webhook',
    `update webhook.endpoints set previous_secret = '\\x00', previous_secret_expires_at = now()`,
  );
  expect(await carryOut(resources, { mode: 'move' })).toMatchObject({ status: 'completed' });
  expect((await write('By the old secret')).status).toBe(202);
  channelSecret = next;
  expect((await write('By the new one')).status).toBe(202);
  await deliver('Is the disk full?', { mode: 'async' });
  const sent = await eventually(() => {
    const [reply, result] = [receiver.at('/replies').at(0), receiver.at('/results').at(0)];
    if (reply === undefined || result === undefined) throw new Error('nothing has arrived');
    return [reply, result];
  });
  // Each is signed by both: of the callback secret, `next` is the one before.
  for (const { body, headers } of sent) {
    new Webhook(next).verify(body, headers as Record<string, string>);
    expect(String(headers['webhook-signature']).split(' ')).toHaveLength(2);
  }
});

it('are not held up by a text that can no longer be decrypted', async () => {
  await write('Hello.');
  expect((await deliver('Hello.', { mode: 'sync' })).status).toBe(200);
  await eventually(() => expect(replies()).toHaveLength(1), 30_000);
  const broken = `'\\x00'::bytea`;
  await gateway.rows('webhook', `update webhook.calls set result = ${broken}`);
  await gateway.rows(
    'webhook',
    `update webhook.channel_messages set text = ${broken} where direction = 'in'`,
  );
  const before = await rowsOf(source);
  expect(await carryOut(resources, { mode: 'move' })).toMatchObject({ status: 'completed' });
  expect(await rowsOf(target)).toEqual(before);
  await write('And now?');
  await eventually(() => expect(replies()).toHaveLength(2), 30_000);
});

it('use the agent that the target has, when theirs is skipped', async () => {
  await make('/v1/mcp/servers', { name: 'mail', url: mcpServer.url }, target);
  const own = await make('/v1/agents', { key: 'clerk', model: 'small' }, target);
  const { body } = await preview(resources, { mode: 'move', on_conflict: 'skip' });
  expect(body.problems).toEqual([]);
  const begun = await begin(body.id);
  expect(await ended(begun.body.id)).toMatchObject({ status: 'completed', error: null });
  for (const [path, id] of [
    ['/v1/webhooks/endpoints', endpoint],
    ['/v1/channels/instances', made.channel],
  ]) {
    const shown = await gateway.call(`${path}/${id}`, { key: target.adminKey });
    expect([shown.status, shown.body]).toMatchObject([200, { agent_id: own }]);
  }
  expect(await deliver('Hello?', { mode: 'sync' })).toMatchObject({ status: 200, body: { agent_id: own } });
  await write('Hello?');
  await eventually(() => expect(replies()).toHaveLength(1), 30_000);
  expect((await ask(source, 'agent:clerk', 'Hello.')).status).toBe(200);
});

it('answer what arrives meanwhile once, in the target', async () => {
  expect((await write('First.')).status).toBe(202);
  await eventually(() => expect(replies()).toHaveLength(1), 30_000);
  const transfer = await closing();
  const release = holdWebhook();
  const during = newId();
  expect(await write('During.', during)).toMatchObject({ status: 202, body: { status: 'accepted' } });
  expect((await write('During.', during)).body).toMatchObject({ status: 'duplicate' });
  const queued = await deliver('Queued?', { mode: 'async' });
  expect(queued.status).toBe(202);
  const waiting = deliver('Waiting?', { mode: 'sync' });
  expect((await ask(source, 'agent:clerk', 'Hello.')).status).toBe(409);
  await release();
  expect(await ended(transfer)).toMatchObject({ status: 'completed' });
  expect(await waiting).toMatchObject({ status: 200, body: { agent_id: made.agent } });
  await eventually(() => {
    expect(replies().map(({ in_reply_to }) => in_reply_to)).toContainEqual([during]);
    expect(results()).toEqual([['call.completed', queued.body['call_id']]]);
  });
  expect(replies()).toHaveLength(2);
  expect(Object.values(await rowsOf(source)).every((count) => count === 0)).toBe(true);
  const spent = await gateway.rows(
    'analytics',
    `select tenant_id, channel from analytics.traces where channel in ('webhook', 'generic') and tenant_id = any ($1)`,
    [[source.id, target.id]],
  );
  expect(spent.filter(({ tenant_id }) => tenant_id === source.id)).toHaveLength(1);
});

it('go on in the source when the move is undone', async () => {
  const transfer = await closing();
  const release = holdWebhook();
  expect((await write('Hello?')).status).toBe(202);
  const queued = await deliver('Queued?', { mode: 'async' });
  const undo = `update tenant.transfers set phase = 'aborting', error = '{"code": "limit_reached", "message": "Full."}' where id = $1`;
  await gateway.rows('tenant', undo, [transfer]);
  await release();
  expect(await ended(transfer)).toMatchObject({ status: 'failed' });
  await eventually(() => {
    expect(replies()).toHaveLength(1);
    expect(results()).toEqual([['call.completed', queued.body['call_id']]]);
  });
  expect(Object.values(await rowsOf(target)).every((count) => count === 0)).toBe(true);
  expect(await carryOut(resources, { mode: 'move' })).toMatchObject({ status: 'completed' });
});

it('take their answers to the conversation of a channel that moves too', async () => {
  await gateway.call(`/v1/webhooks/endpoints/${endpoint}`, {
    ...{ method: 'PATCH', key: source.adminKey },
    body: { deliver_to: { channel_instance_id: made.channel, conversation: 'ops' } },
  });
  const deliveryOf = async (callId: unknown, { adminKey }: { adminKey: string }) => {
    const shown = await gateway.call(`/v1/webhooks/calls/${String(callId)}`, { key: adminKey });
    return (shown.body as { channel_delivery: { status: string } }).channel_delivery.status;
  };
  const before = await deliver('Before the move.', { mode: 'sync' });
  await eventually(async () => expect(await deliveryOf(before.body['call_id'], source)).toBe('delivered'));
  expect(await carryOut(resources, { mode: 'move' })).toMatchObject({ status: 'completed' });
  expect(await deliveryOf(before.body['call_id'], target)).toBe('delivered');
  const after = await deliver('After the move.', { mode: 'sync' });
  await eventually(async () => expect(await deliveryOf(after.body['call_id'], target)).toBe('delivered'));
  expect(receiver.at('/replies')).toHaveLength(2);
});

it('take nothing along of a user whose data are deleted meanwhile', async () => {
  for (const user_id of ['ann', 'bob']) await deliver('Hello.', { mode: 'sync', user_id });
  await write('Hello.');
  await eventually(() => expect(replies()).toHaveLength(1), 30_000);
  const transfer = await closing();
  const release = holdWebhook();
  const user = `generic:${made.channel}:ann`;
  for (const id of ['ann', encodeURIComponent(user)])
    expect(
      (await gateway.call(`/v1/users/${id}/data`, { key: source.adminKey, method: 'DELETE' })).status,
    ).toBe(202);
  const noted = 'select 1 from webhook.deleted_users where tenant_id = $1';
  await eventually(async () => expect(await gateway.rows('webhook', noted, [source.id])).toHaveLength(2));
  // As if they had been brought to the target before.
  await gateway.rows('webhook', `update webhook.calls set user_id = 'ann' where user_id = 'bob'`);
  await release();
  expect(await ended(transfer)).toMatchObject({ status: 'completed' });
  expect(await rowsOf(target)).toMatchObject({ calls: 0, channel_messages: 0 });
});

it('take along none of very many calls of a user whose data are deleted meanwhile', async () => {
  expect((await deliver('Hello.', { mode: 'sync', user_id: 'bob' })).status).toBe(200);
  const count = 12_000;
  await gateway.rows(
    'webhook',
    `insert into webhook.calls select (c).* from (
       select json_populate_record(c, json_build_object('id', gen_random_uuid(), 'user_id', 'ann')) as c
       from webhook.calls as c, generate_series(1, ${count}) where c.tenant_id = $1) as made`,
    [source.id],
  );
  const transfer = await closing();
  const release = holdWebhook();
  const gone = await gateway.call('/v1/users/ann/data', { key: source.adminKey, method: 'DELETE' });
  expect(gone.status).toBe(202);
  const noted = 'select 1 from webhook.deleted_users where tenant_id = $1';
  await eventually(async () => expect(await gateway.rows('webhook', noted, [source.id])).toHaveLength(1));
  await release();
  expect(await ended(transfer)).toMatchObject({ status: 'completed' });
  expect(await rowsOf(target)).toMatchObject({ calls: 1 });
  expect(await rowsOf(source)).toMatchObject({ calls: 0 });
});

it('answer requests before they are closed, and refuse those after it', async () => {
  const { body } = await preview(resources, { mode: 'move' });
  const answers: { status: number; text: string; at: number }[] = [];
  let isOver = false;
  const asking = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const at = performance.now();
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${source.userKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ model: 'agent:clerk', stream: true, messages: [{ role: 'user', content: 'Hello.' }] },
          x_simulator: { chunks: 20, chunk_delay_ms: 20 },
        }),
      });
      answers.push({ status: response.status, text: await response.text(), at });
    }
  });
  await eventually(() => expect(answers.length).toBeGreaterThan(4));
  const transfer = await ended((await begin(body.id)).body.id, { hurries: false });
  isOver = true;
  await Promise.all(asking);
  expect(transfer).toMatchObject({ status: 'completed' });
  const isAnswered = ({ status }: { status: number }): boolean => status === 200;
  const answered = answers.filter(isAnswered);
  expect(answered.filter(({ text }) => !text.includes('data: [DONE]'))).toEqual([]);
  const refused = answers.filter((answer) => !isAnswered(answer));
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([409, 404]));
  const lastAnswered = Math.max(...answered.map(({ at }) => at));
  // Requests that were sent at the same moment may come to either side of it.
  expect(refused.filter(({ at }) => at < lastAnswered - 1_000)).toEqual([]);
  expect((await ask(target, 'agent:clerk', 'Hello.')).status).toBe(200);
});
