import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal } from '@gatehouse/test/identity';
import type { Principal } from '@gatehouse/identity/principal';
import OpenAI from 'openai';
import { ChatHarness, makeAgent } from './chat-harness.ts';
import {
  answerOf,
  callItem,
  eventsOf,
  framesOf,
  messageItem,
  thought,
  type Fields,
} from './response-answers.ts';
import { ScriptedProvider, streamed, whole } from './scripted-provider.ts';

/** Responses that Gatehouse keeps, so that clients go on from them on every replica. */

let provider: ScriptedProvider;
let harness: ChatHarness;
let replica: string;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const openai = { kind: 'openai', base_url: `${provider.url}/v1`, max_retries: 0, api_key_env: 'UNUSED' };
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { name: 'simulator', ...openai },
        { name: 'quick', ...openai },
      ],
      models: [
        { id: 'gpt', provider: 'simulator', api: 'responses', reasoning: true },
        { id: 'other', provider: 'quick', api: 'responses', reasoning: true },
      ],
      embeddings: undefined,
    },
  );
  replica = `http://127.0.0.1:${(await harness.startReplica()).httpPort}`;
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const tenantId = newId();
const ann = { tenantId, userId: 'ann' };
const bob = { tenantId, userId: 'bob' };
const foreign = { tenantId: newId(), userId: 'ann' };
const encrypted = 'reasoning.encrypted_content';

type As = Partial<Principal>;
const post = (body: object, principal: As = ann, url?: string): Promise<Response> =>
  harness.post(
    '/v1/responses',
    { model: 'gpt', ...body },
    {
      ...{ principal, headers: { 'x-gatehouse-dialect': 'responses' } },
      ...(url !== undefined && { url }),
    },
  );
async function call(method: string, path: string, principal: As = ann, url = harness.url): Promise<Response> {
  const assertion = await harness.identity.assertion(makePrincipal(principal));
  const headers = { 'x-gatehouse-assertion': assertion, 'x-gatehouse-dialect': 'responses' };
  return fetch(`${url}/v1/responses/${path}`, { method, headers });
}
const sent = (): Fields[] => provider.received.map(({ body }) => JSON.parse(body.toString()) as Fields);
const user = (content: unknown): Fields => ({ type: 'message', role: 'user', content });

/** Makes a response, and returns its id. */
async function kept(body: object, output: Fields[], principal: As = ann, url?: string): Promise<string> {
  provider.answer(whole(answerOf(output)));
  const response = await post(body, principal, url);
  expect(response.status).toBe(200);
  return ((await response.json()) as { id: string }).id;
}

describe('a conversation', () => {
  const callItems = [thought('rs_1'), callItem('call_1', 'list', '{"path":"."}'), messageItem('Wait.')];
  const frames = (end: Fields, type = 'response.completed'): string[] =>
    framesOf([...eventsOf(callItems).slice(0, -1), { type, response: end }]);
  const { output: _output, ...without } = answerOf(callItems);
  it.each<[string, string[]]>([
    ['no items', frames(answerOf([]))],
    ['null', frames({ ...without, output: null })],
    ['no list', frames(without)],
    ['the first of them', frames(answerOf(callItems.slice(0, 1)))],
    ['no items, cut short', frames(answerOf([], { status: 'incomplete' }), 'response.incomplete')],
    ['no items, and names no events', frames(answerOf([])).map((frame) => frame.replace(/^event: .*\n/, ''))],
    [
      'no items, in lines of its own',
      frames(answerOf([])).map((frame) => frame.replace('data: {', 'data: {\ndata: ')),
    ],
    ['no items, by CRLF', frames(answerOf([])).map((frame) => frame.replaceAll('\n', '\r\n'))],
  ])('keeps the items of a stream which ends with %s', async (_name, sent) => {
    provider.answer(streamed(sent));
    const text = await (await post({ input: 'List.', stream: true, include: [encrypted] })).text();
    const id = /"id":"(resp_[^"]+)"/.exec(text)?.[1] ?? '';
    const stored = (await (await call('GET', `${id}?include=${encrypted}`)).json()) as { output: Fields[] };
    expect(stored.output).toEqual(callItems);
    provider.answer(whole(answerOf([messageItem('Done.')])));
    const results = [{ type: 'function_call_output', call_id: 'call_1', output: 'a.txt' }];
    await (await post({ previous_response_id: id, input: results })).text();
    const { input } = JSON.parse(provider.received[0]?.body.toString() ?? '{}') as { input: Fields[] };
    expect(input.map(({ type }) => type)).toEqual([
      'message',
      'reasoning',
      'function_call',
      'message',
      'function_call_output',
    ]);
  });

  it('goes on from an earlier response, streamed or whole, on another replica', async () => {
    provider.answer(streamed(framesOf(eventsOf([thought('rs_1'), messageItem('Hello.')]))));
    const client = new OpenAI({
      ...{ apiKey: 'unused', baseURL: `${harness.url}/v1`, maxRetries: 0 },
      fetch: (_url, init) => {
        if (typeof init?.body !== 'string') throw new Error('the SDK sends a text');
        return post(JSON.parse(init.body) as object);
      },
    });
    const first = await client.responses.stream({ model: 'gpt', input: 'hi' }).finalResponse();
    expect(first.id).toMatch(/^resp_[0-9a-f]{32}$/);
    expect(JSON.stringify(first)).not.toContain('enc-rs');

    const second = await kept(
      { previous_response_id: first.id, input: [user('and?')], big: 1.0 },
      [messageItem('Then.', 'msg_2')],
      ann,
      replica,
    );
    expect(sent()).toEqual([
      {
        ...{ model: 'gpt', previous_response_id: null, big: 1, store: false, include: [encrypted] },
        input: [user('hi'), thought('rs_1'), messageItem('Hello.'), user('and?')],
      },
    ]);
    provider.answer(whole(answerOf([messageItem('End.', 'msg_3')])));
    const third = await post({ previous_response_id: second, input: 'last', store: false });
    const [last] = sent();
    expect(last?.['input']).toEqual([
      ...[user('hi'), thought('rs_1'), messageItem('Hello.'), user('and?'), messageItem('Then.', 'msg_2')],
      user('last'),
    ]);
    // It is not kept itself.
    expect(await third.json()).toMatchObject({ id: 'resp_1', previous_response_id: second, store: false });
    expect((await call('GET', 'resp_1')).status).toBe(404);
  });

  it('goes on with a model of another provider, which gets no thoughts of the first', async () => {
    const first = await kept({ input: 'hi' }, [thought('rs_1'), messageItem('Hello.')]);
    await kept({ model: 'other', previous_response_id: first, input: 'and?' }, [messageItem('x')]);
    expect(sent()[0]?.['input']).toEqual([user('hi'), messageItem('Hello.'), user('and?')]);
  });

  it('goes on with an agent, whose prompt no response shows', async () => {
    harness.agents.set('kind', makeAgent({ key: 'kind', model: 'gpt', systemPrompt: 'Be kind.' }));
    provider.answer(whole(answerOf([messageItem('Hello.')], { instructions: 'Be kind.' })));
    const first = (await (await post({ model: 'agent:kind', input: 'hi' })).json()) as { id: string };
    expect(sent()[0]).toMatchObject({ instructions: 'Be kind.' });
    expect(await (await call('GET', first.id)).json()).toMatchObject({ id: first.id, instructions: null });
    await kept({ model: 'agent:kind', previous_response_id: first.id, input: 'and?' }, [messageItem('x')]);
    expect(sent()[0]).toMatchObject({ instructions: 'Be kind.', input: [{}, {}, user('and?')] });
  });

  it.each<[string, () => Promise<string> | string, As]>([
    ['of another user', () => kept({ input: 'hi' }, [messageItem('x')]), bob],
    ['of no user', () => kept({ input: 'hi' }, [messageItem('x')]), { tenantId, userId: null }],
    ['of another tenant', () => kept({ input: 'hi' }, [messageItem('x')]), foreign],
    ['that nobody has', () => `resp_${newId().replaceAll('-', '')}`, ann],
    ['that is no id', () => "resp_'; drop", ann],
  ])('does not go on from a response %s', async (_name, id, principal) => {
    const previous = await id();
    provider.answer();
    const refused = await post({ previous_response_id: previous, input: 'x' }, principal);
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { code: 'previous_response_not_found', param: 'previous_response_id' } },
    ]);
    expect(provider.received).toHaveLength(0);
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/input_items'],
      ['DELETE', ''],
      ['POST', '/cancel'],
    ])
      expect(
        (await call(method ?? '', `${encodeURIComponent(previous)}${path ?? ''}`, principal)).status,
      ).toBe(404);
  });

  it('does not go on once one of it was deleted, or once its tenant keeps texts for fewer days', async () => {
    const first = await kept({ input: 'hi' }, [messageItem('x')]);
    const second = await kept({ previous_response_id: first, input: 'and?' }, [messageItem('y')]);
    const asked = () => post({ previous_response_id: second, input: 'z' });
    await harness.rows(
      "update chat.responses set created_at = now() - interval '2 days' where tenant_id = $1",
      [tenantId],
    );
    harness.settings.set(tenantId, { retentionDays: 1 });
    await eventually(async () => expect((await asked()).status).toBe(400));
    expect((await call('GET', second)).status).toBe(404);
    harness.settings.delete(tenantId);
    provider.answer(whole(answerOf([messageItem('z')])));
    await eventually(async () => {
      provider.answer(whole(answerOf([messageItem('z')])));
      expect((await asked()).status).toBe(200);
    });
    const deleted = await call('DELETE', first);
    expect([deleted.status, await deleted.json()]).toEqual([
      200,
      { id: first, object: 'response', deleted: true },
    ]);
    expect((await call('DELETE', first)).status).toBe(404);
    expect((await asked()).status).toBe(400);
  });
});

describe('a kept response', () => {
  it('expires after the longest time, so that a longer retention later holds for it', async () => {
    const other = { tenantId: newId(), userId: 'ann' };
    harness.settings.set(other.tenantId, { retentionDays: 1 });
    provider.answer(whole(answerOf([messageItem('x')])));
    expect((await post({ input: 'hi' }, other)).status).toBe(200);
    const [row] = await harness.rows(
      `select expires_at - created_at = interval '30 days' as longest from chat.responses where tenant_id = $1`,
      [other.tenantId],
    );
    expect(row).toEqual({ longest: true });
  });

  it('can be read whole and as a stream, with encrypted thoughts if they are asked for', async () => {
    const output = [thought('rs_1'), messageItem('Hello.')];
    const id = await kept({ input: 'hi' }, output);
    const shown = answerOf([{ ...thought('rs_1'), encrypted_content: null }, messageItem('Hello.')], {
      ...{ id, store: true, previous_response_id: null },
    });
    const read = await call('GET', id, ann, replica);
    expect([read.status, await read.json()]).toEqual([200, shown]);
    const whole = await call('GET', `${id}?include[]=${encrypted}`);
    expect(await whole.json()).toEqual({ ...shown, output });

    const events = async (query: string): Promise<Fields[]> => {
      const stream = await call('GET', `${id}?stream=true${query}`);
      expect(stream.headers.get('content-type')).toBe('text/event-stream');
      return [...(await stream.text()).matchAll(/^data: (.*)$/gm)].map(
        ([, data]) => JSON.parse(data ?? '') as Fields,
      );
    };
    const all = await events('');
    expect(all.map((event) => event['sequence_number'])).toEqual([...all.keys()]);
    expect([all[0]?.['type'], all.at(-1)]).toMatchObject([
      'response.created',
      { type: 'response.completed', response: shown },
    ]);
    expect(await events('&starting_after=3')).toEqual(all.slice(4));
    for (const wrong of ['x', '', '-7', '1.5', String(all.length - 1), '9999']) {
      const refused = await call('GET', `${id}?stream=true&starting_after=${wrong}`);
      expect([refused.status, await refused.json()]).toMatchObject([
        400,
        { error: { param: 'starting_after' } },
      ]);
    }
    const cancelled = await call('POST', `${id}/cancel`);
    expect([cancelled.status, await cancelled.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_value' } },
    ]);
  });

  it('has the items of its input, in pages', async () => {
    const input = [user('one'), { ...user('two'), id: 'msg_own' }, user('three')];
    const id = await kept({ input }, [messageItem('x')]);
    const page = async (query: string): Promise<Fields & { data: Fields[] }> =>
      (await (await call('GET', `${id}/input_items${query}`)).json()) as Fields & { data: Fields[] };
    const newest = await page('?limit=2');
    expect(newest.data).toMatchObject([user('three'), { ...user('two'), id: 'msg_own' }]);
    expect(newest).toMatchObject({
      object: 'list',
      has_more: true,
      last_id: 'msg_own',
      first_id: newest.data[0]?.['id'],
    });
    expect(await page('?after=msg_own')).toMatchObject({ data: [user('one')], has_more: false });
    expect((await page('?order=asc')).data.map(({ content }) => content)).toEqual(['one', 'two', 'three']);
    expect((await call('GET', `${id}/input_items?after=msg_none`)).status).toBe(400);
  });

  it('is neither of a run that failed, nor of one that was cut', async () => {
    const count = async (): Promise<number> =>
      (await harness.rows('select 1 from chat.responses where ready')).length;
    const before = await count();
    const events = framesOf(eventsOf([messageItem('Hello.')]));
    provider.answer(streamed(events.slice(0, -1)));
    const cut = await (await post({ input: 'hi', stream: true })).text();
    expect(cut).toContain('event: response.failed');
    provider.answer(whole(answerOf([], { status: 'failed', error: { code: 'server_error', message: 'x' } })));
    expect((await post({ input: 'hi' })).status).toBe(502);
    expect(await count()).toBe(before);
  });

  it('is encrypted, and goes with its user, but not one that the user makes after that', async () => {
    const principal = { tenantId: newId(), userId: 'eve' };
    const id = await kept({ input: 'a secret' }, [messageItem('another secret')], principal);
    const rows = await harness.rows("select content from chat.responses where user_id = 'eve'");
    expect(rows).toHaveLength(1);
    expect((rows[0]?.['content'] as Buffer).includes('secret')).toBe(false);
    const participant = await harness.participant('tenant');
    const { tenantId: ofEve } = principal;
    const request = {
      deletionId: newId(),
      tenantId: ofEve,
      userId: 'eve',
      requestedAtMs: BigInt(Date.now()),
    };
    await participant.call('forgetUser', request, { deadlineMs: 5_000 });
    expect((await call('GET', id, principal)).status).toBe(404);
    expect(await harness.rows("select 1 from chat.responses where user_id = 'eve'")).toHaveLength(0);
    // The deletion is repeated until nothing late can come. Ages of runs have a margin of a second.
    await delay(1_100);
    const later = await kept({ input: 'anew' }, [messageItem('a new one')], principal);
    const { counts } = await participant.call('forgetUser', request, { deadlineMs: 5_000 });
    expect(counts).toMatchObject({ responses: 0n });
    expect((await call('GET', later, principal)).status).toBe(200);
  });
});
