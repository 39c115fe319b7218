import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { ChatHarness } from './chat-harness.ts';
import { answers, completion, message, messageEvents, type Fields } from './translated-answers.ts';
import { ScriptedProvider, streamed, whole } from './scripted-provider.ts';

/** Thoughts that one vendor has sealed, and clients that ask another in the same API. */

let first: ScriptedProvider;
let second: ScriptedProvider;
let harness: ChatHarness;
/** Another replica, which goes on with what the first has begun. */
let replica: string;
beforeAll(async () => {
  [first, second] = [await ScriptedProvider.start(), await ScriptedProvider.start()];
  const at = (name: string, kind: string, { url }: ScriptedProvider) => ({
    ...{ name, kind, base_url: url, max_retries: 0, api_key_env: 'UNUSED' },
  });
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        at('one-openai', 'openai', first),
        at('two-openai', 'openai', second),
        at('one-anthropic', 'anthropic', first),
        at('two-anthropic', 'anthropic', second),
        at('one-google', 'google', first),
        at('two-google', 'google', second),
        {
          ...{ name: 'pool', kind: 'openai', base_url: first.url, max_retries: 0 },
          keys: [{ env: 'KEY_A' }, { env: 'KEY_B' }],
        },
      ],
      models: [
        { id: 'responses-2', provider: 'two-openai', api: 'responses' },
        { id: 'responses-1', provider: 'one-openai', api: 'responses', fallbacks: ['responses-2'] },
        { id: 'messages-2', provider: 'two-anthropic', max_output_tokens: 9_000 },
        { id: 'messages-1', provider: 'one-anthropic', max_output_tokens: 9_000, fallbacks: ['messages-2'] },
        { id: 'gemini-2', provider: 'two-google' },
        { id: 'gemini-1', provider: 'one-google', fallbacks: ['gemini-2'] },
        { id: 'pooled', provider: 'pool', api: 'responses' },
        { id: 'chat-2', provider: 'two-openai', upstream_model: 'gemini-3-pro' },
        { id: 'chat-1', provider: 'one-openai', upstream_model: 'gemini-3-pro', fallbacks: ['chat-2'] },
      ],
      embeddings: undefined,
    },
    { KEY_A: 'a', KEY_B: 'b' },
  );
  replica = `http://127.0.0.1:${(await harness.startReplica()).httpPort}`;
});
afterAll(async () => {
  await harness.stop();
  first.stop();
  second.stop();
});

const principal = { tenantId: newId() };

interface Api {
  ask: (model: string, signature: string, stream?: boolean) => [path: string, body: Fields];
  answer: (signature: string) => Fields;
  plain: Fields;
}

const question = { role: 'user', content: 'x' };
const gptAnswer = answers['gpt-responses'] ?? {};
const flash = answers['flash'] ?? {};
const apis: Readonly<Record<string, Api>> = {
  responses: {
    ask: (model, signature, stream = false) => {
      const thought = { type: 'reasoning', summary: [], encrypted_content: signature };
      const include = ['reasoning.encrypted_content'];
      return [
        '/v1/responses',
        { model, stream, store: false, include, input: [question, thought, question] },
      ];
    },
    answer: (signature) => ({
      ...gptAnswer,
      output: [
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: signature },
        ...(gptAnswer['output'] as Fields[]),
      ],
    }),
    plain: gptAnswer,
  },
  messages: {
    ask: (model, signature, stream = false) => {
      const thought = { type: 'thinking', thinking: 'hm', signature };
      const said = { role: 'assistant', content: [thought, { type: 'text', text: 'y' }] };
      return ['/v1/messages', { model, stream, max_tokens: 9, messages: [question, said, question] }];
    },
    answer: (signature) => message([{ type: 'thinking', thinking: 'hm', signature }]),
    plain: message([{ type: 'text', text: 'Four.' }]),
  },
  gemini: {
    ask: (model, signature, stream = false) => {
      const user = { role: 'user', parts: [{ text: 'x' }] };
      const said = { role: 'model', parts: [{ text: 'y', thoughtSignature: signature }] };
      const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
      return [`/v1beta/models/${model}:${method}`, { contents: [user, said, user] }];
    },
    answer: (signature) => {
      const parts = [{ text: 'y', thoughtSignature: signature }];
      return {
        ...flash,
        candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
      };
    },
    plain: flash,
  },
};

describe.each(Object.entries(apis))('a signature in %s', (name, { ask, answer, plain }) => {
  const post = async (
    model: string,
    signature: string,
    { stream, ...place }: { stream?: boolean; url?: string } = {},
  ): Promise<Response> => {
    const [path, body] = ask(model, signature, stream);
    const options = { headers: { 'x-gatehouse-dialect': name }, principal, ...place };
    const response = await harness.post(path, body, options);
    expect([response.status, await response.clone().text()]).toMatchObject([200, expect.any(String)]);
    return response;
  };
  const sentTo = ({ received }: ScriptedProvider): string => received[0]?.body.toString() ?? '';
  let count = 0;
  const newSignature = (): string =>
    Buffer.from(`a thought that is sealed ${name} ${(count += 1)}=`).toString('base64');

  it('goes to the provider of the model that is asked, and a fallback at another one goes on without it', async () => {
    const signature = newSignature();
    first.answer(whole({ error: { message: 'x' } }, 500));
    second.answer(whole(plain));
    const response = await post(`${name}-1`, signature);
    expect(response.headers.get('x-gateway-model')).toBe(`${name}-2`);
    expect(sentTo(first)).toContain(signature);
    expect(sentTo(second)).not.toContain(signature);
  });

  it('that a provider has made goes back to it, and to no other that is asked next', async () => {
    const signature = newSignature();
    first.answer(whole(answer(signature)), whole(plain));
    second.answer(whole(plain));
    await post(`${name}-1`, newSignature());
    await post(`${name}-2`, signature, { url: replica });
    expect(sentTo(second)).not.toContain(signature);
    await post(`${name}-1`, signature);
    expect(first.received[1]?.body.toString()).toContain(signature);
    second.answer(whole(plain));
    await post(`${name}-2`, newSignature());
    expect(sentTo(second)).toContain(
      Buffer.from(`a thought that is sealed ${name} ${count}=`).toString('base64'),
    );
  });

  it('that came in a stream does the same, on another replica, too', async () => {
    const signature = newSignature();
    const frames =
      name === 'messages' ? messageEvents([{ type: 'thinking', thinking: 'hm', signature }]) : null;
    const events = frames ?? [
      `data: ${JSON.stringify(
        name === 'gemini'
          ? answer(signature)
          : { type: 'response.completed', sequence_number: 0, response: answer(signature) },
      )}\n\n`,
    ];
    first.answer(streamed(events));
    second.answer(whole(plain));
    await (await post(`${name}-1`, newSignature(), { stream: true })).text();
    await post(`${name}-2`, signature, { url: replica });
    expect(sentTo(second)).not.toContain(signature);
  });
});

it('a signature in a batch of messages goes to its origin alone', async () => {
  const signature = Buffer.from('a thought that is sealed before a batch').toString('base64');
  const counts = { processing: 1, succeeded: 0, errored: 0, canceled: 0, expired: 0 };
  const batch = (id: string) =>
    whole({ id, type: 'message_batch', processing_status: 'in_progress', request_counts: counts });
  first.answer(whole(apis['messages']?.answer(signature) ?? {}), batch('one'));
  second.answer(batch('two'));
  const headers = { 'x-gatehouse-dialect': 'messages' };
  const [path, asked] = apis['messages']?.ask('messages-1', 'another') ?? ['', {}];
  expect((await harness.post(path, asked, { headers, principal })).status).toBe(200);
  for (const model of ['messages-1', 'messages-2']) {
    const [, params] = apis['messages']?.ask(model, signature) ?? ['', {}];
    const body = { requests: [{ custom_id: 'a', params }] };
    const { status } = await harness.post('/v1/messages/batches', body, { headers, principal });
    expect(status).toBe(200);
  }
  // Nothing asks about them while other tests count requests.
  await harness.rows(`update chat.batches set due_at = now() + interval '1 day'`);
  expect(first.received[1]?.body.toString()).toContain(signature);
  expect(second.received[0]?.body.toString()).toContain('custom_id');
  expect(second.received[0]?.body.toString()).not.toContain(signature);
});

it('a signature beside a call goes to no other server of a model of the same name', async () => {
  const extra = { google: { thought_signature: 'c2ln' } };
  const called = {
    id: 'a',
    type: 'function',
    function: { name: 'f', arguments: '{}' },
    extra_content: extra,
  };
  const done = completion({ content: 'y' });
  first.answer(
    whole(completion({ tool_calls: [called] }, 'tool_calls')),
    whole({ error: { message: 'x' } }, 500),
    whole(done),
  );
  second.answer(whole(done));
  const headers = { 'x-gatehouse-dialect': 'messages' };
  const ask = async (messages: Fields[]): Promise<Fields> => {
    const body = { model: 'chat-1', max_tokens: 9, messages };
    const response = await harness.post('/v1/messages', body, { headers, principal });
    expect(response.status).toBe(200);
    return (await response.json()) as Fields;
  };
  const { content } = await ask([question]);
  const results = [{ type: 'tool_result', tool_use_id: 'a', content: 'r' }];
  const messages = [question, { role: 'assistant', content }, { role: 'user', content: results }];
  for (const _time of [1, 2]) await ask(messages);
  const bodies = (provider: ScriptedProvider) => provider.received.map(({ body }) => body.toString());
  expect(bodies(first).map((body) => body.includes('c2ln'))).toEqual([false, true, true]);
  expect(bodies(second).map((body) => body.includes('c2ln'))).toEqual([false]);
});

it('goes on without the compaction of another provider, and is refused where nothing else is left', async () => {
  const compaction = (signature: string): Fields => ({ type: 'compaction', encrypted_content: signature });
  first.answer(whole({ ...gptAnswer, output: [compaction('abc'), ...(gptAnswer['output'] as Fields[])] }));
  second.answer(whole(gptAnswer));
  const headers = { 'x-gatehouse-dialect': 'responses' };
  const ask = (model: string, input: unknown) =>
    harness.post('/v1/responses', { model, store: false, input }, { headers, principal });
  expect((await ask('responses-1', 'x')).status).toBe(200);
  const passed = await ask('responses-2', [compaction('abc'), question]);
  expect([passed.status, passed.headers.get('x-gateway-ignored')]).toEqual([200, 'input.compaction']);
  expect(JSON.parse(second.received[0]?.body.toString() ?? '')).toMatchObject({ input: [question] });
  second.answer();
  const refused = await ask('responses-2', [compaction('abc')]);
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { error: { code: 'unsupported_parameter', param: 'input[0]' } },
  ]);
  expect(second.received).toHaveLength(0);
});

describe('encrypted reasoning of a pool of keys', () => {
  const headers = { 'x-gatehouse-dialect': 'responses' };
  const as = { tenantId: newId(), userId: 'ann' };
  const signatureAt = (place: number): string =>
    Buffer.from(`a thought of one organisation ${place}`).toString('base64');
  const ask = async (signatures: readonly string[], more: Fields = {}, url = replica): Promise<Response> => {
    const items = signatures.map((encrypted) => ({
      type: 'reasoning',
      summary: [],
      encrypted_content: encrypted,
    }));
    const body = { model: 'pooled', store: false, include: ['reasoning.encrypted_content'], ...more };
    const input = [question, ...items, question];
    const session = { 'x-session-id': 's', ...headers };
    return harness.post('/v1/responses', { ...body, input }, { headers: session, principal: as, url });
  };
  const bodies = (): string[] => first.received.map(({ body }) => body.toString());

  it('goes back with the key that it came with, and not with another one while that rests', async () => {
    const answer = (place: number) => whole(apis['responses']?.answer(signatureAt(place)) ?? {});
    first.answer(answer(1), whole(gptAnswer), whole({ error: { message: 'x' } }, 429), whole(gptAnswer));
    await ask([], {}, harness.url);
    await ask([signatureAt(1)]);
    expect(bodies()[1]).toContain(signatureAt(1));
    expect((await ask([signatureAt(1)])).status).toBe(200);
    expect(bodies()[2]).toContain(signatureAt(1));
    expect(bodies()[3]).not.toContain(signatureAt(1));
  });

  it('is known to no other tenant, and forgotten with its user', async () => {
    const rows = (): Promise<unknown[]> =>
      harness.rows('select maker from chat.seals where tenant_id = $1', [as.tenantId]);
    expect(await rows()).toEqual([{ maker: expect.stringMatching(/^openai=[0-9a-f]{16}$/) }]);
    const participant = await harness.participant('tenant');
    const request = { ...as, deletionId: newId(), requestedAtMs: BigInt(Date.now()) };
    const { counts } = await participant.call('forgetUser', request, { deadlineMs: 5_000 });
    expect(counts).toMatchObject({ seals: 1n });
    expect(await rows()).toEqual([]);
  });
});
