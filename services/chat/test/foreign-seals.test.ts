import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { ChatHarness } from './chat-harness.ts';
import { answers, message, messageEvents, type Fields } from './translated-answers.ts';
import { ScriptedProvider, streamed, whole } from './scripted-provider.ts';

/** Thoughts that one vendor has sealed, and clients that ask another in the same API. */

let first: ScriptedProvider;
let second: ScriptedProvider;
let harness: ChatHarness;
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
      ],
      models: [
        { id: 'responses-2', provider: 'two-openai', api: 'responses' },
        { id: 'responses-1', provider: 'one-openai', api: 'responses', fallbacks: ['responses-2'] },
        { id: 'messages-2', provider: 'two-anthropic', max_output_tokens: 9_000 },
        { id: 'messages-1', provider: 'one-anthropic', max_output_tokens: 9_000, fallbacks: ['messages-2'] },
        { id: 'gemini-2', provider: 'two-google' },
        { id: 'gemini-1', provider: 'one-google', fallbacks: ['gemini-2'] },
      ],
      embeddings: undefined,
    },
  );
});
afterAll(async () => {
  await harness.stop();
  first.stop();
  second.stop();
});

const principal = { tenantId: newId() };

interface Api {
  ask: (model: string, seal: string, stream?: boolean) => [path: string, body: Fields];
  answer: (seal: string) => Fields;
  plain: Fields;
}

const question = { role: 'user', content: 'x' };
const gptAnswer = answers['gpt-responses'] ?? {};
const flash = answers['flash'] ?? {};
const apis: Readonly<Record<string, Api>> = {
  responses: {
    ask: (model, seal, stream = false) => {
      const thought = { type: 'reasoning', summary: [], encrypted_content: seal };
      const include = ['reasoning.encrypted_content'];
      return [
        '/v1/responses',
        { model, stream, store: false, include, input: [question, thought, question] },
      ];
    },
    answer: (seal) => ({
      ...gptAnswer,
      output: [
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: seal },
        ...(gptAnswer['output'] as Fields[]),
      ],
    }),
    plain: gptAnswer,
  },
  messages: {
    ask: (model, seal, stream = false) => {
      const thought = { type: 'thinking', thinking: 'hm', signature: seal };
      const said = { role: 'assistant', content: [thought, { type: 'text', text: 'y' }] };
      return ['/v1/messages', { model, stream, max_tokens: 9, messages: [question, said, question] }];
    },
    answer: (seal) => message([{ type: 'thinking', thinking: 'hm', signature: seal }]),
    plain: message([{ type: 'text', text: 'Four.' }]),
  },
  gemini: {
    ask: (model, seal, stream = false) => {
      const user = { role: 'user', parts: [{ text: 'x' }] };
      const said = { role: 'model', parts: [{ text: 'y', thoughtSignature: seal }] };
      const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
      return [`/v1beta/models/${model}:${method}`, { contents: [user, said, user] }];
    },
    answer: (seal) => {
      const parts = [{ text: 'y', thoughtSignature: seal }];
      return {
        ...flash,
        candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
      };
    },
    plain: flash,
  },
};

describe.each(Object.entries(apis))('a seal in %s', (name, { ask, answer, plain }) => {
  const post = async (model: string, seal: string, stream?: boolean): Promise<Response> => {
    const [path, body] = ask(model, seal, stream);
    const response = await harness.post(path, body, { headers: { 'x-gatehouse-dialect': name }, principal });
    expect([response.status, await response.clone().text()]).toMatchObject([200, expect.any(String)]);
    return response;
  };
  const sentTo = ({ received }: ScriptedProvider): string => received[0]?.body.toString() ?? '';
  let count = 0;
  const newSeal = (): string =>
    Buffer.from(`a thought that is sealed ${name} ${(count += 1)}=`).toString('base64');

  it('goes to the provider of the model that is asked, and a fallback at another one goes on without it', async () => {
    const seal = newSeal();
    first.answer(whole({ error: { message: 'x' } }, 500));
    second.answer(whole(plain));
    const response = await post(`${name}-1`, seal);
    expect(response.headers.get('x-gateway-model')).toBe(`${name}-2`);
    expect(sentTo(first)).toContain(seal);
    expect(sentTo(second)).not.toContain(seal);
  });

  it('that a provider has made goes back to it, and to no other that is asked next', async () => {
    const seal = newSeal();
    first.answer(whole(answer(seal)), whole(plain));
    second.answer(whole(plain));
    await post(`${name}-1`, newSeal());
    await post(`${name}-2`, seal);
    expect(sentTo(second)).not.toContain(seal);
    await post(`${name}-1`, seal);
    expect(first.received[1]?.body.toString()).toContain(seal);
    second.answer(whole(plain));
    await post(`${name}-2`, newSeal());
    expect(sentTo(second)).toContain(
      Buffer.from(`a thought that is sealed ${name} ${count}=`).toString('base64'),
    );
  });

  it('that came in a stream does the same', async () => {
    const seal = newSeal();
    const frames =
      name === 'messages' ? messageEvents([{ type: 'thinking', thinking: 'hm', signature: seal }]) : null;
    const events = frames ?? [
      `data: ${JSON.stringify(
        name === 'gemini'
          ? answer(seal)
          : { type: 'response.completed', sequence_number: 0, response: answer(seal) },
      )}\n\n`,
    ];
    first.answer(streamed(events));
    second.answer(whole(plain));
    await post(`${name}-1`, newSeal(), true);
    await post(`${name}-2`, seal);
    expect(sentTo(second)).not.toContain(seal);
  });
});

it('a conversation that another provider has compacted is refused rather than lost', async () => {
  const compaction = (seal: string): Fields => ({ type: 'compaction', encrypted_content: seal });
  first.answer(whole({ ...gptAnswer, output: [compaction('abc'), ...(gptAnswer['output'] as Fields[])] }));
  second.answer(whole(gptAnswer));
  const headers = { 'x-gatehouse-dialect': 'responses' };
  const ask = (model: string, input: unknown) =>
    harness.post('/v1/responses', { model, store: false, input }, { headers, principal });
  expect((await ask('responses-1', 'x')).status).toBe(200);
  const refused = await ask('responses-2', [compaction('abc'), question]);
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { error: { code: 'unsupported_parameter', param: 'input[0]' } },
  ]);
  expect(second.received).toHaveLength(0);
});
