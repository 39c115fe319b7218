import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Principal } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import { makePrincipal } from '@gatehouse/test/identity';
import { ChatHarness } from './chat-harness.ts';
import { answerOf, callItem, messageItem, thought, type Fields } from './response-answers.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';

/** Items that stand in an input by their ids alone. */

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

type As = Partial<Principal>;
interface Options {
  principal?: As;
  url?: string;
  path?: string;
}
const post = (body: object, { principal = ann, url, path = '' }: Options = {}): Promise<Response> =>
  harness.post(
    `/v1/responses${path}`,
    { model: 'gpt', ...body },
    {
      ...{ principal, headers: { 'x-gatehouse-dialect': 'responses' } },
      ...(url !== undefined && { url }),
    },
  );
async function call(method: string, path: string, principal: As = ann): Promise<Response> {
  const assertion = await harness.identity.assertion(makePrincipal(principal));
  const headers = { 'x-gatehouse-assertion': assertion, 'x-gatehouse-dialect': 'responses' };
  return fetch(`${harness.url}/v1/responses/${path}`, { method, headers });
}
const sent = (): unknown =>
  provider.received.map(({ body }) => (JSON.parse(body.toString()) as Fields)['input']).at(-1);
const user = (content: unknown, fields: Fields = {}): Fields => ({
  ...{ type: 'message', role: 'user', content },
  ...fields,
});
const named = (id: string): Fields => ({ type: 'item_reference', id });
const result = (call_id: string): Fields => ({ type: 'function_call_output', call_id, output: '7' });

/** Makes a response, and returns its id. */
async function kept(body: object, output: Fields[], options?: Options): Promise<string> {
  provider.answer(whole(answerOf(output)));
  const response = await post(body, options);
  expect(response.status).toBe(200);
  return ((await response.json()) as { id: string }).id;
}

let made = 0;
/** An id that no other test has. */
const anId = (prefix: string): string => `${prefix}_${(made += 1)}`;

describe('an item by its id', () => {
  it('is put in its place, of an output or an input, on another replica', async () => {
    const [thoughtId, callId, inputId] = [anId('rs'), anId('call'), anId('msg')];
    const output = [thought(thoughtId), callItem(callId, 'add', '{"a":1.0}')];
    await kept({ input: [user('3 + 4?', { id: inputId })] }, output);
    const input = [named(inputId), named(thoughtId), named(`fc_${callId}`), result(callId)];
    const id = await kept({ input }, [messageItem('7.', anId('msg'))], { url: replica });
    expect(sent()).toEqual([user('3 + 4?', { id: inputId }), ...output, result(callId)]);
    // The kept input has the items themselves.
    const items = (await (await call('GET', `${id}/input_items?order=asc`)).json()) as { data: Fields[] };
    expect(items.data).toMatchObject([user('3 + 4?', { id: inputId }), ...output, { call_id: callId }]);
  });

  it('can be left without a type, and names an item of the same request or one without an id', async () => {
    const first = await kept({ input: 'hi' }, [messageItem('Hello.', anId('msg'))]);
    const list = (await (await call('GET', `${first}/input_items`)).json()) as { data: { id: string }[] };
    const listed = list.data[0]?.id ?? '';
    const own = user('own', { id: anId('msg') });
    await kept({ input: [{ id: listed }, own, named(String(own['id'])), user('x')] }, [messageItem('y')]);
    expect(sent()).toEqual([user('hi'), own, own, user('x')]);
  });

  it('is what the newest response has under it', async () => {
    const id = anId('msg');
    await kept({ input: [user('old', { id })] }, [messageItem('x', anId('msg'))]);
    await kept({ input: [user('new', { id })] }, [messageItem('x', anId('msg'))]);
    await kept({ input: [named(id)] }, [messageItem('x')]);
    expect(sent()).toEqual([user('new', { id })]);
  });

  it('stands behind the conversation of the response that a request goes on from', async () => {
    const [said, other] = [messageItem('Hello.', anId('msg')), messageItem('Other.', anId('msg'))];
    await kept({ input: 'elsewhere' }, [other]);
    const first = await kept({ input: 'hi' }, [said]);
    const input = [named(String(other['id'])), user('and?')];
    const second = await kept({ previous_response_id: first, input }, [messageItem('x')]);
    expect(sent()).toEqual([user('hi'), said, other, user('and?')]);
    await kept({ previous_response_id: second, input: 'more' }, [messageItem('x')]);
    expect(sent()).toMatchObject([user('hi'), said, other, user('and?'), {}, user('more')]);
  });

  it('is left out if it is a thought of another provider', async () => {
    const id = anId('rs');
    await kept({ input: 'hi' }, [thought(id), messageItem('x', anId('msg'))]);
    const reused = await kept({ model: 'other', input: [named(id), user('and?')] }, [messageItem('y')]);
    expect(sent()).toEqual([user('and?')]);
    await kept({ model: 'other', previous_response_id: reused, input: 'z' }, [messageItem('y')]);
    expect(JSON.stringify(sent())).not.toContain('reasoning');
    provider.answer();
    const alone = await post({ model: 'other', input: [named(id)] });
    expect(await alone.json()).toMatchObject({ error: { code: 'item_not_found', param: 'input[0].id' } });
    // Its own provider gets it again, though a newer response was asked for by its id.
    await kept({ input: [named(id), user('and?')] }, [messageItem('y')]);
    expect(sent()).toEqual([thought(id), user('and?')]);
  });

  it('is left out and named if there is no such item beside others', async () => {
    provider.answer(whole(answerOf([messageItem('y')])));
    const response = await post({ input: [named('msg_none'), user('x'), named('rs_none')] });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-gateway-ignored')).toBe('input.item_reference');
    expect(sent()).toEqual([user('x')]);
  });

  it('goes on through changes of the model, and back', async () => {
    const [first, second] = [anId('rs'), anId('rs')];
    const asked = { input: [user('1'), named(first)] };
    await kept({ input: [user('1')] }, [thought(first), callItem('c1', 'f', '{}')]);
    await kept({ model: 'other', ...asked }, [thought(second), messageItem('2', anId('msg'))]);
    const both = [user('1'), named(first), user('2'), named(second), user('3')];
    await kept({ input: both }, [messageItem('3')]);
    expect(sent()).toEqual([user('1'), thought(first), user('2'), user('3')]);
    await kept({ model: 'other', input: both }, [messageItem('3')]);
    expect(sent()).toEqual([user('1'), user('2'), thought(second), user('3')]);
  });

  it('counts as the item', async () => {
    const said = messageItem('Hello.', anId('msg'));
    await kept({ input: 'hi' }, [said]);
    provider.answer(whole({ object: 'response.input_tokens', input_tokens: 5 }));
    const counted = await post({ input: [named(String(said['id']))] }, { path: '/input_tokens' });
    expect([counted.status, sent()]).toEqual([200, [said]]);
  });

  it('is not found in the same words if it is unknown, foreign, deleted, expired or not kept', async () => {
    const asked = async (id: string, principal: As = ann): Promise<unknown> => {
      provider.answer();
      const refused = await post({ input: [named(id)] }, { principal });
      const { error } = (await refused.json()) as { error: Fields };
      expect(provider.received).toHaveLength(0);
      return [refused.status, { ...error, message: String(error['message']).replace(id, 'ID') }];
    };
    const notFound = [
      400,
      {
        message: "Item with id 'ID' not found.",
        ...{ type: 'invalid_request_error', code: 'item_not_found', param: 'input[0].id' },
        request_id: expect.any(String),
      },
    ];
    const id = anId('msg');
    const response = await kept({ input: 'hi' }, [messageItem('x', id)]);
    for (const principal of [
      { tenantId, userId: 'bob' },
      { tenantId, userId: null },
      { tenantId: newId(), userId: 'ann' },
    ]) {
      expect(await asked(id, principal)).toEqual(notFound);
      expect(await asked(`msg_${response.slice(5)}_0`, principal)).toEqual(notFound);
    }
    expect(await asked('msg_none')).toEqual(notFound);
    expect(await asked(`msg_${newId().replaceAll('-', '')}_0`)).toEqual(notFound);
    expect(await asked(`msg_${response.slice(5)}_7`)).toEqual(notFound);
    expect((await call('DELETE', response)).status).toBe(200);
    expect(await asked(id)).toEqual(notFound);

    const old = anId('msg');
    await kept({ input: 'hi' }, [messageItem('x', old)]);
    await harness.rows(
      "update chat.responses set created_at = now() - interval '31 days' where tenant_id = $1",
      [tenantId],
    );
    expect(await asked(old)).toEqual(notFound);
    const passed = anId('msg');
    provider.answer(whole(answerOf([messageItem('x', passed)])));
    await (await post({ input: 'hi', store: false })).text();
    expect(await asked(passed)).toEqual(notFound);
  });

  it('must be a text, and a request has 1,000 at most', async () => {
    const codeOf = async (input: unknown): Promise<unknown> => {
      const { error } = (await (await post({ input })).json()) as { error: Fields };
      return [error['code'], error['param']];
    };
    expect(await codeOf([{ type: 'item_reference', id: 7 }])).toEqual(['invalid_type', 'input[0].id']);
    expect(await codeOf(Array.from({ length: 1_001 }, (_, at) => named(`msg_${at}`)))).toEqual([
      ...['invalid_value', 'input'],
    ]);
  });
});

it.each([
  [
    'an item of the request',
    (id: string) => [user('x'.repeat(1024 * 1024), { id }), ...Array<Fields>(64).fill(named(id))],
  ],
  ['thoughts', (id: string) => Array<Fields>(64).fill({ id, type: 'reasoning', summary: [] })],
])('%s by the same id many times are 20 MiB at most', async (_name, input) => {
  const id = anId('msg');
  await kept({ input: [user('x'.repeat(1024 * 1024), { id })] }, [messageItem('a')]);
  provider.answer();
  const response = await post({ input: input(id) });
  expect(await response.json()).toMatchObject({ error: { code: 'payload_too_large', param: 'input' } });
  expect(response.status).toBe(413);
  expect(provider.received).toEqual([]);
});

describe('a thought by its id alone', () => {
  const alone = (id: string): Fields => ({ id, type: 'reasoning', summary: [] });
  const call = callItem('call_1', 'f', '{}');

  it('is completed as stored, at each step of a loop, by a read of one response', async () => {
    const [first, second] = [anId('rs'), anId('rs')];
    await kept({ input: [user('q')] }, [thought(first), call]);
    const step = [user('q'), alone(first), call, result('call_1')];
    await kept({ input: step }, [thought(second), callItem('call_2', 'f', '{}')]);
    expect(sent()).toEqual([user('q'), thought(first), call, result('call_1')]);
    await kept({ input: [...step, alone(second)] }, [messageItem('x')], { url: replica });
    expect(sent()).toEqual([user('q'), thought(first), call, result('call_1'), thought(second)]);
  });

  it.each([
    ['of another provider', 'other', ann],
    ['of another user', 'gpt', { tenantId, userId: 'bob' }],
  ])('is left out and named if it is one %s', async (_name, model, principal) => {
    const id = anId('rs');
    await kept({ input: [user('q')] }, [thought(id), call]);
    provider.answer(whole(answerOf([messageItem('y')])));
    const input = [user('q'), alone(id), call, result('call_1')];
    const response = await post({ model, input }, { principal });
    expect(response.headers.get('x-gateway-ignored')).toBe('input.reasoning');
    expect(sent()).toEqual([user('q'), call, result('call_1')]);
  });

  it('is left out before the last message of the user, where no model reads it, and without a store', async () => {
    const id = anId('rs');
    await kept({ input: [user('q')] }, [thought(id), messageItem('a')]);
    const input = [user('q'), alone(id), messageItem('a'), user('r')];
    await kept({ input }, [messageItem('y')]);
    expect(sent()).toEqual([user('q'), messageItem('a'), user('r')]);
    await kept({ input, store: false }, [messageItem('y')]);
    expect(sent()).toEqual([user('q'), messageItem('a'), user('r')]);
  });
});

describe('the keys of items', () => {
  it('are those of the newest, and go with their response', async () => {
    const before = await keys();
    const input = Array.from({ length: 300 }, (_, at) => user(`${at}`, { id: `many_${at}` }));
    const id = await kept({ input }, [messageItem('x', anId('msg'))]);
    expect((await keys()) - before).toBe(256);
    await kept({ input: [named('many_299')] }, []);
    expect((await post({ input: [named('many_44')] })).status).toBe(400);
    await call('DELETE', id);
    expect((await keys()) - before).toBe(1);
  });

  const keys = async (): Promise<number> =>
    (await harness.rows('select 1 from chat.response_items where tenant_id = $1', [tenantId])).length;
});
