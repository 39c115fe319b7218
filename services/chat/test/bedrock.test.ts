import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { chunkFrame, exceptionFrame } from '@gatehouse/test/aws-frames';
import { ChatHarness } from './chat-harness.ts';
import { ScriptedProvider, whole, type ReceivedRequest, type Script } from './scripted-provider.ts';
import { awsStream } from './aws-stream.ts';

/** Claude at Amazon Bedrock by InvokeModel, asked in its own API. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const bedrock = { kind: 'bedrock', region: 'eu-central-1', base_url: provider.url, max_retries: 0 };
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { name: 'bedrock', ...bedrock, api_key_env: 'UNUSED' },
        { name: 'vendor', kind: 'anthropic', base_url: provider.url, api_key_env: 'UNUSED' },
        { name: 'patient', ...bedrock, api_key_env: 'UNUSED', max_retries: 1 },
      ],
      models: [
        { id: 'claude', provider: 'bedrock', api: 'messages', upstream_model: 'eu.anthropic.claude-x-v1:0' },
        {
          ...{ id: 'sonnet', provider: 'bedrock', api: 'messages' },
          upstream_model: 'us.anthropic.claude-sonnet-4-20250514-v1:0',
        },
        {
          ...{ id: 'named', provider: 'bedrock', api: 'messages', family: 'claude-sonnet-4' },
          upstream_model: 'arn:aws:bedrock:eu-central-1:1:application-inference-profile/abc',
        },
        {
          ...{ id: 'sonnet-long', provider: 'bedrock', api: 'messages' },
          upstream_model: 'us.anthropic.claude-sonnet-4-6',
        },
        { id: 'backed', provider: 'bedrock', api: 'messages', fallbacks: ['vendor'] },
        { id: 'vendor', provider: 'vendor' },
        { id: 'retried', provider: 'patient', api: 'messages', upstream_model: 'arn:aws:bedrock:x/y' },
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

const post = (body: unknown, options: Options = {}, path = '/v1/messages'): Promise<Response> =>
  harness.post(path, body, {
    ...options,
    headers: { 'x-gatehouse-dialect': 'messages', ...options.headers },
  });
const asking = (fields: object = {}): object => ({
  ...{ model: 'claude', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] },
  ...fields,
});
const answer = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x', stop_reason: 'end_turn' },
  ...{ content: [{ type: 'text', text: 'Hello.' }], usage: { input_tokens: 10, output_tokens: 4 } },
};
const events = [
  `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}`,
  `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
  `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Größe \\ud800 9007199254740993"}}`,
  `{"type":"content_block_stop","index":0}`,
  `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":6}}`,
  `{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":10}}`,
];
const frames = events.map(chunkFrame);
/** The events as Anthropic sends them. */
const serverSent = events
  .map((event) => `event: ${(JSON.parse(event) as { type: string }).type}\ndata: ${event}\n\n`)
  .join('');
const received = (): ReceivedRequest => {
  const [first] = provider.received;
  if (first === undefined) throw new Error('nothing was sent');
  return first;
};

describe('messages with a model of Bedrock', () => {
  it('go to InvokeModel with the client’s bytes, but for what stands elsewhere there', async () => {
    provider.answer(whole(answer));
    const body =
      '{ "model":"claude", "max_tokens":100,"messages":[{"role":"user","content":"\\ud800"}],"new":1.0 }';
    const betas = {
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'interleaved-thinking-2025-05-14,effort-2025-11-24',
    };
    const response = await post(body, { headers: betas });
    expect([response.status, await response.json()]).toEqual([200, answer]);
    expect(received().path).toBe('/model/eu.anthropic.claude-x-v1%3A0/invoke');
    expect(received().headers).toMatchObject({ authorization: 'Bearer provider-key' });
    expect(Object.keys(received().headers).filter((name) => name.startsWith('anthropic'))).toEqual([]);
    expect(received().body.toString()).toBe(
      '{ "max_tokens":100,"messages":[{"role":"user","content":"\\ud800"}],"new":1.0,' +
        '"anthropic_version":"bedrock-2023-05-31",' +
        '"anthropic_beta":["interleaved-thinking-2025-05-14","effort-2025-11-24"] }',
    );
    expect(response.headers.get('x-gateway-ignored')).toBeNull();
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ status: 'ok', provider: 'bedrock', input_tokens: 10, output_tokens: 4, dialect: 'messages' },
    });
  });

  it('have the betas that Bedrock knows, by its names, and name the others as left out', async () => {
    provider.answer(whole(answer));
    const betas = ['claude-code-20250219', 'context-1m-2025-08-07', 'advanced-tool-use-2025-11-20', 'new-1'];
    const response = await post(asking(), { headers: { 'anthropic-beta': betas.join(', ') } });
    expect(response.status).toBe(200);
    expect(JSON.parse(received().body.toString())).toMatchObject({
      anthropic_beta: ['context-1m-2025-08-07', 'tool-search-tool-2025-10-19'],
    });
    expect(response.headers.get('x-gateway-ignored')).toBe(
      'anthropic-beta.claude-code-20250219, anthropic-beta.new-1',
    );
    provider.answer(whole(answer));
    await post(asking(), { headers: { 'anthropic-beta': 'new-1' } });
    expect(JSON.parse(received().body.toString())).not.toHaveProperty('anthropic_beta');
  });

  it('lose the hints of betas that the model does not take, and name them', async () => {
    const betas = 'claude-code-20250219,context-management-2025-06-27,effort-2025-11-24';
    const hints = {
      context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
      output_config: { effort: 'high' },
    };
    // The operator names the model behind a profile.
    for (const [model, stream] of [
      ['sonnet', false],
      ['sonnet', true],
      ['named', false],
    ] as const) {
      provider.answer(stream ? awsStream(frames) : whole(answer));
      const response = await post(asking({ model, ...hints, stream }), {
        headers: { 'anthropic-beta': betas },
      });
      await response.arrayBuffer();
      expect([response.status, response.headers.get('x-gateway-ignored')]).toEqual([
        200,
        'anthropic-beta.claude-code-20250219, anthropic-beta.context-management-2025-06-27, ' +
          'anthropic-beta.effort-2025-11-24, context_management, output_config.effort',
      ]);
      expect(Object.keys(JSON.parse(received().body.toString()) as object)).toEqual([
        ...['max_tokens', 'messages', 'anthropic_version'],
      ]);
    }
  });

  it.each([
    ['mcp_servers', { mcp_servers: [{ type: 'url', url: 'https://mcp.example', name: 'x' }] }],
    ['container', { container: { skills: [] } }],
    ['tools[0].type', { tools: [{ type: 'web_search_20260209', name: 'web_search' }] }],
  ])(
    'are refused before a call by %s, which Bedrock lacks, unless a fallback has it',
    async (param, field) => {
      provider.answer();
      const response = await post(asking(field));
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { error: { details: { error_code: 'unsupported_parameter', param } } },
      ]);
      expect(provider.received).toEqual([]);
      provider.answer(whole(answer));
      const passed = await post(asking({ model: 'backed', ...field }));
      expect([passed.status, JSON.parse(received().body.toString())]).toMatchObject([200, field]);
      expect(received().path).toBe('/v1/messages');
    },
  );

  it('are sent once more without a beta or a hint that Bedrock refuses', async () => {
    const refusal = (message: string): Script =>
      whole({ message }, 400, { 'x-amzn-errortype': 'ValidationException' });
    provider.answer(refusal('invalid beta flag'), whole(answer));
    const tools = [{ name: 'x', input_schema: { type: 'object' }, defer_loading: true }];
    const response = await post(asking({ model: 'retried', tools }), {
      headers: { 'anthropic-beta': 'tool-search-tool-2025-10-19' },
    });
    expect(response.status).toBe(200);
    const sent = provider.received.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>);
    expect(
      sent.map(({ anthropic_beta: beta, tools: given }) => [beta, JSON.stringify(given).includes('defer')]),
    ).toEqual([
      [['tool-search-tool-2025-10-19'], true],
      [undefined, false],
    ]);
  });

  it('end with the refusal of a server that refuses other names each time', async () => {
    const refusals = Array.from({ length: 40 }, (_, n) =>
      whole({ message: `Unexpected value(s) \`beta-${n}\` for the \`anthropic-beta\` header.` }, 400, {
        'x-amzn-errortype': 'ValidationException',
      }),
    );
    provider.answer(...refusals);
    expect((await post(asking({ model: 'retried' }))).status).toBe(400);
    expect(provider.received).toHaveLength(9);
  });

  it('are streamed as Anthropic’s events, byte for byte, wherever the frames are cut', async () => {
    const bytes = Buffer.concat(frames);
    for (const pieces of [frames, [bytes], Array.from(bytes, (byte) => Buffer.of(byte))]) {
      provider.answer(awsStream(pieces));
      const response = await post(asking({ stream: true }));
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
      expect(await response.text()).toBe(serverSent);
      expect(received().path).toBe('/model/eu.anthropic.claude-x-v1%3A0/invoke-with-response-stream');
      expect(JSON.parse(received().body.toString())).not.toHaveProperty('stream');
      expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
        ...{ status: 'ok', input_tokens: 10, output_tokens: 6, usage_estimated: false },
      });
    }
  });

  it('that are cut or damaged in the middle of a stream end in an error', async () => {
    const damaged = Buffer.from(frames[3] ?? '');
    damaged[damaged.length - 6] = (damaged[damaged.length - 6] ?? 0) ^ 1;
    const half = frames[3]?.subarray(0, 20) ?? Buffer.alloc(0);
    for (const script of [
      awsStream([...frames.slice(0, 3), half]),
      awsStream([...frames.slice(0, 3), half], { cut: true }),
      awsStream([...frames.slice(0, 3), damaged, ...frames.slice(4)]),
      awsStream([
        ...frames.slice(0, 3),
        exceptionFrame('modelStreamErrorException', 'Secret of the account.'),
      ]),
    ]) {
      provider.answer(script);
      const response = await post(asking({ stream: true }));
      const text = await response.text();
      expect(text).toContain('Größe');
      expect(text).toMatch(/\n\nevent: error\ndata: \{"type":"error"[^\n]*\n\n$/);
      expect(text).not.toContain('message_stop');
      expect(text).not.toContain('Secret');
      expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({ status: 'error' });
    }
  });

  it('have Anthropic’s errors, by what Bedrock’s mean', async () => {
    const exception = (status: number, name: string, message = 'Of the account 123.') =>
      whole({ message }, status, { 'x-amzn-errortype': `${name}:http://internal.amazon.com/` });
    for (const [script, status, type, shown] of [
      [exception(400, 'ValidationException', 'Invalid `signature`.'), 400, 'invalid_request_error', true],
      [exception(403, 'AccessDeniedException'), 502, 'api_error', false],
      [exception(404, 'ResourceNotFoundException'), 404, 'not_found_error', false],
      [exception(429, 'ThrottlingException'), 429, 'rate_limit_error', false],
      [exception(400, 'ServiceQuotaExceededException'), 429, 'rate_limit_error', false],
      [exception(503, 'ServiceUnavailableException'), 529, 'overloaded_error', false],
      [exception(500, 'InternalServerException'), 502, 'api_error', false],
      [
        awsStream([exceptionFrame('throttlingException', 'Of the account 123.')]),
        429,
        'rate_limit_error',
        false,
      ],
    ] as const) {
      provider.answer(script);
      const response = await post(asking({ stream: status === 429 }));
      const text = await response.text();
      expect([response.status, JSON.parse(text)]).toMatchObject([status, { type: 'error', error: { type } }]);
      expect(text.includes('Invalid `signature`.')).toBe(shown);
      expect(text).not.toContain('account 123');
    }
  });

  it('are retried after throttling, as Bedrock asks', async () => {
    provider.answer(whole({ message: 'x' }, 429, { 'retry-after': '0' }), whole(answer));
    expect((await post(asking({ model: 'retried' }))).status).toBe(200);
    expect(provider.received.map(({ path }) => path)).toEqual([
      ...['/model/arn%3Aaws%3Abedrock%3Ax%2Fy/invoke', '/model/arn%3Aaws%3Abedrock%3Ax%2Fy/invoke'],
    ]);
  });

  it('whose client leaves close the connection at once', async () => {
    let closedAt = 0;
    provider.answer(({ response }) => {
      response.on('close', () => {
        closedAt = Date.now();
      });
      response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
      for (const frame of frames.slice(0, 3)) response.write(frame);
    });
    const left = new AbortController();
    const response = await post(asking({ stream: true }), { signal: left.signal });
    const leftAt = Date.now();
    left.abort();
    await eventually(() => {
      if (closedAt === 0) throw new Error('the connection is open');
    });
    expect(closedAt - leftAt).toBeLessThan(1_000);
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ status: 'cancelled', input_tokens: 10 },
    });
  });

  it('are counted by CountTokens, of the model itself', async () => {
    provider.answer(whole({ inputTokens: 42 }));
    const { max_tokens: _limit, ...counted } = asking() as { max_tokens: number };
    const thinking = { type: 'enabled', budget_tokens: 2_000 };
    const response = await post({ ...counted, thinking }, {}, '/v1/messages/count_tokens');
    expect([response.status, await response.json()]).toEqual([200, { input_tokens: 42 }]);
    expect(received().path).toBe('/model/anthropic.claude-x-v1%3A0/count-tokens');
    const { input } = JSON.parse(received().body.toString()) as { input: { invokeModel: { body: string } } };
    expect(JSON.parse(Buffer.from(input.invokeModel.body, 'base64').toString())).toEqual({
      messages: [{ role: 'user', content: 'hi' }],
      thinking,
      anthropic_version: 'bedrock-2023-05-31',
      max_tokens: 2_001,
    });
  });

  it('are counted with the beta of a long context, and once more without what Bedrock refuses', async () => {
    const refusal = { message: 'output_config.effort: Extra inputs are not permitted' };
    const errorType = { 'x-amzn-errortype': 'ValidationException' };
    provider.answer(whole(refusal, 400, errorType), whole({ inputTokens: 42 }));
    const hints = { model: 'sonnet-long[1m]', output_config: { effort: 'low' } };
    const response = await post(asking(hints), {}, '/v1/messages/count_tokens');
    expect([response.status, await response.json()]).toEqual([200, { input_tokens: 42 }]);
    const sent = provider.received.map(({ body }) => {
      const { input } = JSON.parse(body.toString()) as { input: { invokeModel: { body: string } } };
      return JSON.parse(Buffer.from(input.invokeModel.body, 'base64').toString()) as object;
    });
    const long = { anthropic_beta: ['context-1m-2025-08-07'] };
    expect(sent).toMatchObject([{ ...long, output_config: { effort: 'low' } }, long]);
    expect(sent[1]).not.toHaveProperty('output_config');
  });

  it('are estimated where a count would lack what decides their meaning', async () => {
    provider.answer();
    const response = await post(asking({ container: 'c' }), {}, '/v1/messages/count_tokens');
    expect([response.status, response.headers.get('x-gateway-estimated')]).toEqual([200, 'true']);
    expect(provider.received).toEqual([]);
  });
});
