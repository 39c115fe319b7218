import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Instructions } from '../faults.ts';
import { startProviderSimulator } from '../simulator.ts';
import type { ProviderSimulator } from '../simulator.ts';

let simulator: ProviderSimulator;
let client: Anthropic;

beforeAll(async () => {
  simulator = await startProviderSimulator({ apiKey: 'sk-test' });
  client = new Anthropic({ apiKey: 'sk-test', baseURL: simulator.url, maxRetries: 0 });
});

afterAll(() => simulator.close());

type Message = Anthropic.MessageParam;

/** A request of these messages, with instructions that no type of the SDK knows. */
function ask(messages: string | Message[], instructions: Instructions = {}) {
  const asked: Message[] = typeof messages === 'string' ? [{ role: 'user', content: messages }] : messages;
  return { model: 'claude-sonnet-5-5', max_tokens: 4000, messages: asked, x_simulator: instructions };
}

const thinking = { type: 'enabled' as const, budget_tokens: 1024 };
const weather: Anthropic.Tool = {
  name: 'get_weather',
  input_schema: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 3 } },
    required: ['city', 'days'],
  },
};

async function errorOf(call: PromiseLike<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> {
  const error: unknown = await Promise.resolve(call).then(
    () => new Error('the call succeeded'),
    (caught: unknown) => caught,
  );
  if (error instanceof Anthropic.APIError) return error;
  throw error;
}

describe('the SDK of Anthropic', () => {
  it('creates a message', async () => {
    const message = await client.messages.create(ask('hello there'));
    expect(message.content).toEqual([
      {
        type: 'text',
        text: 'This is the Gatehouse provider simulator. You said: hello there',
        citations: null,
      },
    ]);
    expect(message).toMatchObject({ stop_reason: 'end_turn', usage: { input_tokens: 9, output_tokens: 10 } });
    expect(message._request_id).toMatch(/^req_/);
  });

  it('reads thinking and tools from a stream, and sends them back with the results', async () => {
    const clock: Anthropic.Tool = { name: 'get_time', input_schema: { type: 'object' } };
    const request = { ...ask('use a tool'), tools: [weather, clock], thinking };
    const message = await client.messages.stream(request).finalMessage();

    expect(message.content).toEqual([
      {
        type: 'thinking',
        thinking: 'The simulator thinks about what you said.',
        signature: expect.stringMatching(/./),
      },
      expect.objectContaining({ type: 'tool_use', name: 'get_weather', input: { city: 'example', days: 3 } }),
      expect.objectContaining({ type: 'tool_use', name: 'get_time', input: {} }),
    ]);
    expect(message.stop_reason).toBe('tool_use');
    expect(message.usage).toMatchObject({ output_tokens: 15, output_tokens_details: { thinking_tokens: 7 } });

    const results = message.content
      .filter((block) => block.type === 'tool_use')
      .map(({ id, name }) => ({
        type: 'tool_result' as const,
        tool_use_id: id,
        content: `${name} is fine`,
      }));
    const messages: Message[] = [
      ...request.messages,
      { role: 'assistant', content: message.content },
      { role: 'user', content: results },
    ];
    const next = await client.messages.stream({ ...request, messages }).finalText();
    expect(next).toMatch(/The tools said: get_weather is fine \| get_time is fine$/);
  });

  it('iterates the events of a stream', async () => {
    const types: string[] = [];
    const stream = await client.messages.create({ ...ask('hi', { content: 'a b' }), stream: true });
    for await (const event of stream) types.push(event.type);
    expect(types).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  it('counts tokens', async () => {
    const { x_simulator: _none, max_tokens: _most, ...request } = ask('How many?');
    expect(await client.messages.countTokens(request)).toEqual({ input_tokens: 9 });
  });

  it.each([
    [400, Anthropic.BadRequestError, 'invalid_request_error'],
    [401, Anthropic.AuthenticationError, 'authentication_error'],
    [402, Anthropic.PaymentRequiredError, 'billing_error'],
    [403, Anthropic.PermissionDeniedError, 'permission_error'],
    [404, Anthropic.NotFoundError, 'not_found_error'],
    [429, Anthropic.RateLimitError, 'rate_limit_error'],
    [500, Anthropic.InternalServerError, 'api_error'],
    [529, Anthropic.OverloadedError, 'overloaded_error'],
  ])('raises its own error for %d', async (status, type, name) => {
    const error = await errorOf(client.messages.create(ask('hi', { status })));
    expect(error).toBeInstanceOf(type);
    expect([error.status, error.type]).toEqual([status, name]);
    expect(error.requestID).toMatch(/^req_/);
  });

  it('reads the code of an error from its details', async () => {
    const fault = { status: 429, error: { message: 'spent', code: 'contract_spend_limit_reached' } };
    const error = await errorOf(client.messages.create(ask('hi', fault)));
    expect([error.apiMessage, error.errorCode]).toEqual(['spent', 'contract_spend_limit_reached']);
  });

  it('raises the error that a stream reports', async () => {
    const fault = { error_event_after_chunks: 1, error: { type: 'overloaded_error', message: 'Overloaded' } };
    const stream = client.messages.stream(ask('hi', fault));
    let text = '';
    stream.on('text', (delta) => (text += delta));
    expect((await errorOf(stream.finalMessage())).type).toBe('overloaded_error');
    expect(text).toBe('This ');
  });

  it('has a wrong key refused', async () => {
    const stranger = client.withOptions({ apiKey: 'sk-wrong' });
    expect(await errorOf(stranger.messages.create(ask('hi')))).toBeInstanceOf(Anthropic.AuthenticationError);
  });
});
