import { geminiDialect } from '@gatehouse/dialects/gemini/dialect';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { ChatHarness, makeAgent } from './chat-harness.ts';
import { makePassage } from './memory-stand-in.ts';
import { ScriptedProvider, streamed, whole } from './scripted-provider.ts';

/** Content with providers that speak Google's API. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const google = { kind: 'google', base_url: provider.url, api_key_env: 'UNUSED', max_retries: 0 };
  const openai = { kind: 'openai', base_url: `${provider.url}/v1`, max_retries: 0 };
  harness = await ChatHarness.start(
    { silenceMs: 1_000 },
    {
      providers: [
        { name: 'simulator', ...google },
        { name: 'other', ...openai },
        { name: 'vendor', ...google },
      ],
      models: [
        { id: 'gemini', provider: 'simulator', price: { input_per_mtok: '1', output_per_mtok: '2' } },
        { id: 'vendor/re:named', provider: 'simulator', upstream_model: 'up/stream:1' },
        { id: 'with-fallbacks', provider: 'simulator', fallbacks: ['vendor/re:named'] },
        { id: 'gpt', provider: 'other' },
        { id: 'elsewhere-next', provider: 'simulator', fallbacks: ['elsewhere'] },
        { id: 'elsewhere', provider: 'vendor' },
      ],
      embeddings: undefined,
    },
  );
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

type Options = Parameters<ChatHarness['post']>[2];

const post = (path: string, body: unknown, options: Options = {}): Promise<Response> =>
  harness.post(path, body, {
    ...options,
    headers: { 'x-gatehouse-dialect': 'gemini', ...options.headers },
  });
const generate = (body: unknown, model = 'gemini', options: Options = {}): Promise<Response> =>
  post(`/v1beta/models/${model}:generateContent`, body, options);
const stream = (body: unknown, model = 'gemini', options: Options = {}): Promise<Response> =>
  post(`/v1beta/models/${model}:streamGenerateContent?alt=sse`, body, options);

const asking = (text: string, fields: object = {}): object => ({
  contents: [{ role: 'user', parts: [{ text }] }],
  ...fields,
});

const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 4, totalTokenCount: 14 };
const answerOf = (parts: object[], more: object = { finishReason: 'STOP' }): object => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
  ...{ usageMetadata, modelVersion: 'gemini-x-1', responseId: 'r1' },
});
const said = (text: string): object => ({ text });
/** As Google writes it: with CR and LF. */
const frame = (response: object): string => `data: ${JSON.stringify(response)}\r\n\r\n`;
const piece = (...parts: object[]): string => frame(answerOf(parts, {}));

const sent = (): Record<string, unknown>[] =>
  provider.received.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>);

describe('content', () => {
  it('is asked for and comes back byte for byte, and is metered', async () => {
    const body = `{ "newer":{"a":[1.0,12345678901234567890]},
      "contents":[{"parts":[{"text":"Größe \\ud800?"}]}], "system_instruction":{"parts":{"text":"x"}} }`;
    const answer = JSON.stringify(answerOf([said('Groß.'), { newer: 1.5 }]), null, 2);
    provider.answer(whole(answer));
    const response = await generate(body, 'gemini', { headers: { 'x-session-affinity': 'ses-1' } });
    expect([response.status, await response.text()]).toEqual([200, answer]);
    const [received] = provider.received;
    expect([received?.path, received?.body.toString()]).toEqual([
      '/v1beta/models/gemini:generateContent',
      body,
    ]);
    expect(received?.headers).toMatchObject({ 'x-goog-api-key': 'provider-key' });
    expect(received?.headers).not.toHaveProperty('authorization');
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ status: 'ok', provider: 'simulator', model: 'gemini', response_model: 'gemini-x-1' },
      ...{ input_tokens: 10, output_tokens: 4, usage_estimated: false, session_id: 'ses-1' },
      ...{ input_preview: 'Größe \ufffd?', output_preview: 'Groß.' },
    });
  });

  it.each([
    '/v1/models/vendor/re:named:generateContent',
    '/v1beta/models/vendor%2Fre%3Anamed:generateContent',
    '/v1beta/models/vendor%2Fre%3Anamed%3AgenerateContent?alt=json',
  ])('of %s comes from the model in the path', async (path) => {
    provider.answer(whole(answerOf([said('x')])));
    const response = await post(path, asking('hi', { model: 'models/another' }));
    expect([response.status, response.headers.get('x-gateway-model')]).toEqual([200, 'vendor/re:named']);
    expect(provider.received[0]?.path).toBe('/v1beta/models/up/stream:1:generateContent');
    expect(sent()).toMatchObject([{ model: 'models/up/stream:1' }]);
  });

  it('for a model that is not there is a 404, and a fallback answers where the provider fails', async () => {
    const missing = await generate(asking('hi'), 'none');
    expect([missing.status, await missing.json()]).toMatchObject([404, { error: { status: 'NOT_FOUND' } }]);
    provider.answer(whole({}, 500), whole(answerOf([said('x')])));
    const fallen = await generate(asking('hi'), 'with-fallbacks');
    expect([fallen.status, fallen.headers.get('x-gateway-model')]).toEqual([200, 'vendor/re:named']);
  });

  it('goes to another provider without a signature that is not its own', async () => {
    const contents = [
      { role: 'user', parts: [said('a')] },
      { role: 'model', parts: [{ text: 'b', thoughtSignature: 'c2ln' }] },
      { role: 'user', parts: [said('c')] },
    ];
    provider.answer(whole({}, 500), whole({}, 500));
    const response = await generate({ contents }, 'elsewhere-next');
    const signed = provider.received.map(({ body }) => body.includes('c2ln'));
    expect([response.status, signed]).toEqual([502, [true, false]]);
    provider.answer(whole({}, 500), whole(answerOf([said('x')])));
    const plain = await generate(asking('x'), 'elsewhere-next');
    expect([plain.status, plain.headers.get('x-gateway-provider')]).toEqual([200, 'vendor']);
  });

  it('of a prompt that was blocked is an answer', async () => {
    const blocked = { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 7 } };
    provider.answer(whole(blocked), streamed([frame(blocked)]));
    const response = await generate(asking('hi'));
    expect([response.status, await response.json()]).toEqual([200, blocked]);
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ status: 'ok', input_tokens: 7, output_tokens: 0 },
    });
    expect(await (await stream(asking('hi'))).text()).toBe(frame(blocked));
  });

  it.each([
    [400, 400, true],
    [413, 413, true],
    [422, 422, true],
    [404, 404, false],
    [429, 429, false],
    [401, 502, false],
    [503, 503, false],
    [500, 502, false],
  ])('that the provider answers with %i is %i, and keeps its words: %j', async (status, expected, kept) => {
    const names: Record<number, string> = {
      ...{ 404: 'NOT_FOUND', 429: 'RESOURCE_EXHAUSTED', 502: 'UNAVAILABLE', 503: 'UNAVAILABLE' },
    };
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' }];
    const error = { code: status, message: 'projects/1 says no', status: 'SOME', details };
    const words = JSON.stringify({ error }, null, 1);
    provider.answer(whole(words, status));
    const response = await generate(asking('hi'));
    const text = await response.text();
    expect(response.status).toBe(expected);
    expect(response.headers.get('x-run-id')).toMatch(/./);
    if (kept) expect(text).toBe(words);
    else {
      expect(text).not.toContain('projects/1');
      expect(JSON.parse(text)).toMatchObject({ error: { code: expected, status: names[expected] } });
    }
    if (![429, 503].includes(status)) return;
    expect(response.headers.get('retry-after')).toBe('7');
    expect(text).toContain('"retryDelay":"7s"');
  });
});

describe('embeddings', () => {
  const values = [0.25, -1];

  it.each([
    ['embedContent', '"content":{"parts":[{"text":"Größe"}]}', { embedding: { values } }],
    [
      'batchEmbedContents',
      '"requests":[{"model":"models/gemini","content":{"parts":{"text":"Größe"}}}]',
      { embeddings: [{ values }], usageMetadata: { promptTokenCount: 3 } },
    ],
  ])('by %s pass byte for byte, and are metered', async (method, members, vectors) => {
    const body = `{ ${members}, "newer":1.0}`;
    const answer = JSON.stringify(vectors, null, 1);
    for (const version of ['v1beta', 'v1']) {
      provider.answer(whole(answer));
      const response = await post(`/${version}/models/gemini:${method}`, body);
      expect([response.status, await response.text()]).toEqual([200, answer]);
      const [received] = provider.received;
      expect([received?.path, received?.body.toString()]).toEqual([`/v1beta/models/gemini:${method}`, body]);
      const isReported = 'usageMetadata' in vectors;
      expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
        ...{ operation: 'embeddings', status: 'ok', dialect: 'gemini', input_preview: 'Größe' },
        ...{ input_tokens: isReported ? 3 : 2, output_tokens: 0, usage_estimated: !isReported },
      });
    }
  });

  it('are refused for agents, and without content', async () => {
    harness.agents.set('embedder', makeAgent({ key: 'embedder', model: 'gemini' }));
    const ofAgent = await post('/v1beta/models/agent:embedder:embedContent', { content: {} });
    expect([ofAgent.status, await ofAgent.json()]).toMatchObject([404, { error: { status: 'NOT_FOUND' } }]);
    const empty = await post('/v1beta/models/gemini:batchEmbedContents', { requests: [{}] });
    expect([empty.status, await empty.json()]).toMatchObject([
      400,
      { error: { details: [{ metadata: { param: 'requests[0].content' } }, {}] } },
    ]);
  });
});

describe('streamed content', () => {
  const frames = [piece(said('Hel')), ': hm\n\n', piece(said('lo')), frame(answerOf([said('!')]))];

  it('comes back byte for byte as events, and its last frame once the run has ended', async () => {
    provider.answer(streamed(frames));
    const response = await stream(asking('hi'));
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(await response.text()).toBe(frames.join(''));
    expect(provider.received[0]?.path).toBe('/v1beta/models/gemini:streamGenerateContent?alt=sse');
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ status: 'ok', streamed: true, input_tokens: 10, output_tokens: 4, usage_estimated: false },
      output_preview: 'Hello!',
    });
  });

  it('is an array for a client that does not ask for events', async () => {
    provider.answer(streamed(frames));
    const response = await post('/v1/models/gemini:streamGenerateContent', asking('hi'));
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual([
      answerOf([said('Hel')], {}),
      answerOf([said('lo')], {}),
      answerOf([said('!')]),
    ]);
    expect(provider.received[0]?.path).toBe('/v1beta/models/gemini:streamGenerateContent?alt=sse');
  });

  it.each([true, false])(
    'that was cut ends with an error, and costs what was answered; as events: %j',
    async (sse) => {
      provider.answer(
        streamed([frame({ ...answerOf([said('One two three four')], {}), usageMetadata: {} })], {
          cut: true,
        }),
      );
      const response = sse
        ? await stream(asking('hi'))
        : await post('/v1beta/models/gemini:streamGenerateContent', asking('hi'));
      const text = await response.text();
      const events = `[${/data: (.*)\n\n$/.exec(text)?.[1] ?? ''}]`;
      const last = (JSON.parse(sse ? events : text) as unknown[]).at(-1);
      expect(last).toEqual({ error: { code: 502, message: expect.any(String), status: 'UNAVAILABLE' } });
      expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
        ...{ status: 'error', output_tokens: 4, usage_estimated: true },
      });
    },
  );

  it('goes to the fallback for an error before its first part, and ends with one behind it', async () => {
    const error = frame({ error: { code: 503, message: 'Overloaded', status: 'UNAVAILABLE' } });
    provider.answer(streamed([error]), streamed(frames));
    const response = await stream(asking('hi'), 'with-fallbacks');
    expect([response.headers.get('x-gateway-model'), await response.text()]).toEqual([
      'vendor/re:named',
      frames.join(''),
    ]);
    provider.answer(streamed([piece(said('x')), error]));
    const broken = await (await stream(asking('hi'))).text();
    expect(broken).toMatch(/data: \{"error":\{"code":503,[^\n]*\n\n$/);
    expect(broken).not.toContain('Overloaded');
  });

  it.each([
    [true, geminiDialect.keepAlive.toString()],
    [false, '\n'],
  ])(
    'shows signs of life while the provider is silent (as events: %j), and ends its call when the client leaves',
    async (sse, sign) => {
      let closedAt = 0;
      provider.answer(({ response }) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(piece(said('x')));
        response.on('close', () => (closedAt = Date.now()));
      });
      const leave = new AbortController();
      const path = `/v1beta/models/gemini:streamGenerateContent${sse ? '?alt=sse' : ''}`;
      const response = await post(path, asking('hi'), { signal: leave.signal });
      let text = '';
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString();
        if (text.endsWith(sign) && text.length > piece(said('x')).length - 10) break;
      }
      const leftAt = Date.now();
      leave.abort();
      await eventually(() => expect(closedAt).toBeGreaterThan(0));
      expect(closedAt - leftAt).toBeLessThan(1_000);
      expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({ status: 'cancelled' });
    },
  );
});

describe('an agent', () => {
  const tool = {
    ...{ name: 'lookup', description: 'Looks up.', schemaJson: '{"type":"object"}', tool: 'lookup' },
    ...{ serverId: 's', timeoutMs: 1_000, executor: 'agent', repeatable: true },
  };

  it('adds its prompt, its parameters and what it remembers', async () => {
    const memory = { enabled: true, write: true, analyser: 'english', recallLimit: 5, minScore: 0 };
    harness.agents.set(
      'helper',
      makeAgent({
        ...{ key: 'helper', model: 'gemini', systemPrompt: 'Be kind.' },
        parametersJson: '{"temperature":0.3,"max_tokens":50,"seed":1}',
        memory,
      }),
    );
    harness.memory.passages = [makePassage({ text: 'Thirty days.' })];
    provider.answer(whole(answerOf([said('Thirty.')])));
    const response = await generate(asking('How long?'), 'agent%3Ahelper', { principal: { userId: 'ann' } });
    expect(response.status).toBe(200);
    const [body] = sent();
    expect(body).toMatchObject({
      systemInstruction: { parts: [said('Be kind.')] },
      generationConfig: { temperature: 0.3, maxOutputTokens: 50, seed: 1 },
    });
    const [content] = body?.['contents'] as { parts: { text: string }[] }[];
    expect(content?.parts[0]?.text).toContain('Thirty days.');
    expect(content?.parts[1]).toEqual(said('How long?'));
    await eventually(() => expect(harness.memory.turns.at(-1)).toMatchObject({ output: 'Thirty.' }));
  });

  it('calls its tools, unary and streamed, and the client sees one answer', async () => {
    harness.agents.set('worker', makeAgent({ key: 'worker', model: 'gemini', tools: { maxIterations: 4 } }));
    harness.toolLists.tools = [tool];
    const thought = { text: 'hm', thought: true };
    const call = { functionCall: { name: 'lookup', args: { q: 1 } }, thoughtSignature: 'c2ln' };
    provider.answer(whole(answerOf([thought, call])), whole(answerOf([said('It is 4.')])));
    const response = await generate(asking('hi'), 'agent:worker');
    expect(await response.json()).toEqual({
      ...answerOf([said('It is 4.')]),
      usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 8, totalTokenCount: 28 },
    });
    const [first, second] = sent();
    expect(first?.['tools']).toEqual([
      {
        functionDeclarations: [
          { name: 'lookup', description: 'Looks up.', parametersJsonSchema: { type: 'object' } },
        ],
      },
    ]);
    expect(second).toMatchObject({ toolConfig: { functionCallingConfig: { mode: 'AUTO' } } });
    expect((second?.['contents'] as unknown[]).slice(1)).toEqual([
      { role: 'model', parts: [thought, call] },
      {
        role: 'user',
        parts: [
          {
            functionResponse: {
              name: 'lookup',
              response: { output: expect.stringContaining('lookup was called') },
            },
          },
        ],
      },
    ]);
    provider.answer(
      streamed([piece(said('Let me see. ')), frame(answerOf([call]))]),
      streamed([piece(said('It is 4.')), frame(answerOf([said('!')]))]),
    );
    const shown = await stream(asking('hi'), 'agent:worker');
    const text = await shown.text();
    expect(text).not.toContain('functionCall');
    expect(text).toContain('Let me see. ');
    expect(text).toContain('It is 4.');
    expect(text.match(/"finishReason":"STOP"/g)).toHaveLength(1);
    expect(text).toMatch(/"text":"!"[^\n]*"STOP"[^\n]*"candidatesTokenCount":8[^\n]*\n\n$/);
    expect(await harness.endedRun(shown.headers.get('x-run-id'))).toMatchObject({
      ...{ status: 'ok', input_tokens: 20, output_tokens: 8 },
    });
  });
});
