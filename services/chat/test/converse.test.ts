import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import type { StreamEvent } from '@gatehouse/dialects/translation/stream-events';
import { exceptionFrame } from '@gatehouse/test/aws-frames';
import { ChatHarness } from './chat-harness.ts';
import { ConverseWriter, eventFrame, readRequest } from '@gatehouse/test/converse-provider';
import { ScriptedProvider, whole, type ReceivedRequest } from './scripted-provider.ts';
import { awsStream } from './aws-stream.ts';

/** Models of Amazon Bedrock by Converse, asked in every dialect. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        {
          ...{ name: 'bedrock', kind: 'bedrock', region: 'eu-central-1', base_url: provider.url },
          ...{ max_retries: 0, api_key_env: 'UNUSED' },
        },
      ],
      models: [
        { id: 'claude', provider: 'bedrock', upstream_model: 'eu.anthropic.claude-sonnet-4-5-v1:0' },
        {
          ...{ id: 'profile', provider: 'bedrock' },
          upstream_model: 'arn:aws:bedrock:eu-central-1:1:application-inference-profile/abc',
        },
      ],
      embeddings: undefined,
    },
  );
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const path = '/model/eu.anthropic.claude-sonnet-4-5-v1%3A0';
const asks = [{ role: 'user', content: 'hi' }];
const requests = {
  chat: ['/v1/chat/completions', { model: 'claude', messages: asks }],
  responses: ['/v1/responses', { model: 'claude', input: 'hi', store: false }],
  messages: ['/v1/messages', { model: 'claude', max_tokens: 100, messages: asks }],
} as const;
type Name = keyof typeof requests;
const names = Object.keys(requests) as Name[];

const tenantId = newId();
const post = (name: Name, fields: object = {}): Promise<Response> => {
  const [to, body] = requests[name];
  return harness.post(
    to,
    { ...body, ...fields },
    { headers: { 'x-gatehouse-dialect': name }, principal: { tenantId } },
  );
};
/** The request that arrived, which Bedrock takes. */
const received = (): ReceivedRequest => {
  const [first] = provider.received;
  if (first === undefined) throw new Error('nothing was sent');
  readRequest(first.body);
  return first;
};

const usage = { inputTokens: 10, outputTokens: 4, totalTokens: 16, cacheReadInputTokens: 2 };
const answer = {
  output: { message: { role: 'assistant', content: [{ text: 'Hello.' }] } },
  ...{ stopReason: 'end_turn', usage, metrics: { latencyMs: 1 } },
};
const events: StreamEvent[] = [
  { type: 'start', id: '', model: '' },
  { type: 'open', part: { kind: 'text' } },
  { type: 'delta', text: 'Hel' },
  { type: 'delta', text: 'lo.' },
  { type: 'close', signature: null },
  { type: 'stop', stop: { reason: 'end', sequence: null } },
];
const written = (): Buffer[] => {
  const writer = new ConverseWriter();
  return [...events.flatMap((event) => writer.write(event)), eventFrame('metadata', { usage })];
};

describe('a model of Bedrock', () => {
  it.each(names)('answers %s by Converse', async (name) => {
    provider.answer(whole(answer));
    const response = await post(name);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Hello.')]);
    expect(received().path).toBe(`${path}/converse`);
    expect(received().headers).toMatchObject({ authorization: 'Bearer provider-key' });
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ status: 'ok', input_tokens: 12, output_tokens: 4, usage_estimated: false, dialect: name },
    });
  });

  it.each(names)('answers %s in a stream, wherever its frames are cut', async (name) => {
    const frames = written();
    for (const pieces of [frames, [Buffer.concat(frames)]]) {
      provider.answer(awsStream(pieces));
      const response = await post(name, { stream: true });
      const text = await response.text();
      expect(text).toMatch(/\[DONE\]|message_stop|response\.completed/);
      expect(text.replaceAll(/[^]*?"(?:delta|content|text)":"(Hel|lo\.)"[^]*?/g, '$1')).toContain('Hello.');
      expect(received().path).toBe(`${path}/converse-stream`);
      expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
        ...{ status: 'ok', input_tokens: 12, output_tokens: 4, usage_estimated: false },
      });
    }
  });

  const hints = {
    ...{ model: 'profile', max_tokens: 8_000, thinking: { type: 'enabled', budget_tokens: 2_048 } },
    system: [{ type: 'text', text: 'Facts.', cache_control: { type: 'ephemeral' } }],
  };
  const bodies = (): string[] => provider.received.map(({ body }) => body.toString());
  const ignoredBy = (response: Response): [number, string | null] => [
    response.status,
    response.headers.get('x-gateway-ignored'),
  ];

  it('behind a profile gets the hints of Anthropic’s clients, since it may be Claude', async () => {
    provider.answer(whole(answer), whole(answer));
    expect(ignoredBy(await post('messages', hints))).toEqual([200, null]);
    expect(bodies()[0]).toMatch(/"cachePoint".*"budget_tokens":2048/);
    await post('chat', { model: 'profile', reasoning_effort: 'high' });
    expect(bodies()[1]).not.toMatch(/cachePoint|thinking/);
  });

  it('behind a profile that refuses these hints is asked without from then on', async () => {
    const message = 'You invoked an unsupported model or your request did not allow prompt caching.';
    const refusal = whole({ message }, 403, { 'x-amzn-errortype': 'AccessDeniedException' });
    provider.answer(refusal, whole(answer), whole(answer));
    for (let call = 0; call < 2; call += 1)
      expect(ignoredBy(await post('messages', hints))).toEqual([200, 'cache_control, thinking']);
    expect(bodies().map((body) => /cachePoint|thinking/.test(body))).toEqual([true, false, false]);
  });

  it.each(names)('ends a stream for %s with an error where it is cut or damaged', async (name) => {
    const frames = written();
    const damaged = Buffer.from(frames[2] ?? '');
    damaged[damaged.length - 6] = (damaged[damaged.length - 6] ?? 0) ^ 1;
    const failed = exceptionFrame('modelStreamErrorException', 'Secret.');
    for (const script of [
      awsStream(frames.slice(0, 3)),
      awsStream(frames.slice(0, 3), { cut: true }),
      awsStream([...frames.slice(0, 2), damaged, ...frames.slice(3)]),
      awsStream([...frames.slice(0, 3), failed]),
    ]) {
      provider.answer(script);
      const response = await post(name, { stream: true });
      const text = await response.text();
      expect(text).toContain('"error"');
      expect(text).not.toMatch(/\[DONE\]|message_stop|response\.completed|Secret/);
      expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
        ...{ status: 'error', usage_estimated: true },
      });
    }
  });

  it.each([
    ['ValidationException', 400, 400, 'Of the request.'],
    ['ThrottlingException', 429, 429, null],
    ['ModelNotReadyException', 429, 429, null],
    ['AccessDeniedException', 403, 502, null],
    ['ServiceUnavailableException', 503, 503, null],
    ['ModelErrorException', 424, 502, null],
  ])('says %s as the dialect does', async (type, status, shown, words) => {
    const headers = { 'x-amzn-errortype': type };
    provider.answer(whole({ message: 'Of the request.' }, status, headers));
    const response = await post('chat');
    expect(response.status).toBe(shown);
    const text = await response.text();
    expect(text.includes('Of the request.')).toBe(words !== null);
  });

  it('names the code of a conversation that is too long', async () => {
    const error = { message: 'Input is too long for requested model.' };
    provider.answer(whole(error, 400, { 'x-amzn-errortype': 'ValidationException' }));
    expect(await (await post('messages')).text()).toContain('"error_code":"context_length_exceeded"');
  });

  it('is not asked what Converse has no place for', async () => {
    provider.answer();
    const image = { type: 'image_url', image_url: { url: 'https://a.example/x.png' } };
    const response = await post('chat', { messages: [{ role: 'user', content: [image] }] });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'unsupported_parameter' } },
    ]);
    expect(provider.received).toEqual([]);
  });

  it('gets its thoughts back in the next turn', async () => {
    const content = [
      { reasoningContent: { reasoningText: { text: 'So', signature: 'c2ln' } } },
      { toolUse: { toolUseId: 'a', name: 'f', input: { q: 1 } } },
    ];
    const thinks = { thinking: { type: 'enabled', budget_tokens: 2_000 }, max_tokens: 9_000 };
    const tools = [{ name: 'f', input_schema: { type: 'object' } }];
    provider.answer(
      whole({ ...answer, output: { message: { role: 'assistant', content } }, stopReason: 'tool_use' }),
    );
    const first = (await (await post('messages', { ...thinks, tools })).json()) as { content: object[] };
    const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] };
    provider.answer(whole(answer));
    const messages = [...asks, { role: 'assistant', content: first.content }, result];
    expect((await post('messages', { ...thinks, tools, messages })).status).toBe(200);
    const body = JSON.parse(received().body.toString()) as { messages: object[] };
    expect(body.messages[1]).toEqual({ role: 'assistant', content });
    expect(body).toMatchObject({ additionalModelRequestFields: { thinking: { type: 'enabled' } } });
  });
});
