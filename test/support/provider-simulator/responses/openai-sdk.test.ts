import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import type { Instructions } from '../faults.ts';
import { startProviderSimulator } from '../simulator.ts';
import type { ProviderSimulator } from '../simulator.ts';

let simulator: ProviderSimulator;
let client: OpenAI;

beforeAll(async () => {
  simulator = await startProviderSimulator({ apiKey: 'sk-test' });
  client = new OpenAI({ apiKey: 'sk-test', baseURL: simulator.baseUrl, maxRetries: 0 });
});

afterAll(() => simulator.close());

type Item = OpenAI.Responses.ResponseInputItem;

/** A request with instructions that no type of the SDK knows. */
function ask(input: string | Item[], instructions: Instructions = {}) {
  return { model: 'gpt-5.4-nano', input, x_simulator: instructions };
}

const reasoning = { effort: 'low', summary: 'auto' } as const;
const stateless = { store: false, include: ['reasoning.encrypted_content' as const] };
const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'get_weather',
  strict: true,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 3 } },
    required: ['city', 'days'],
    additionalProperties: false,
  },
};

async function errorOf(call: PromiseLike<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error: unknown = await Promise.resolve(call).then(
    () => new Error('the call succeeded'),
    (caught: unknown) => caught,
  );
  if (error instanceof OpenAI.APIError) return error;
  throw error;
}

describe('the SDK of OpenAI', () => {
  it('creates a response', async () => {
    const response = await client.responses.create(ask('hello there'));
    expect(response.output_text).toBe('This is the Gatehouse provider simulator. You said: hello there');
    expect(response).toMatchObject({ object: 'response', status: 'completed', store: true, tools: [] });
    expect(response.usage).toEqual({
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 10,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 19,
    });
  });

  it('reads reasoning and calls from a stream, and sends them back with the results', async () => {
    const exec: OpenAI.Responses.CustomTool = { type: 'custom', name: 'exec' };
    const request = { ...ask('use a tool'), ...stateless, reasoning, tools: [weather, exec] };
    const stream = client.responses.stream(request);
    const numbers: number[] = [];
    stream.on('event', (event) => numbers.push(event.sequence_number));
    const response = await stream.finalResponse();
    expect(numbers).toEqual(numbers.map((_, index) => index));

    const thought = 'The simulator thinks about what you said.';
    expect(response.output).toMatchObject([
      {
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: thought }],
        encrypted_content: expect.stringMatching(/./),
      },
      {
        type: 'function_call',
        name: 'get_weather',
        arguments: '{"city":"example","days":3}',
        status: 'completed',
      },
      { type: 'custom_tool_call', name: 'exec', input: 'example' },
    ]);
    expect(response.usage).toMatchObject({
      output_tokens: 17,
      output_tokens_details: { reasoning_tokens: 7 },
    });

    const results = response.output.flatMap((item): Item[] => {
      if (item.type === 'function_call') {
        return [{ type: 'function_call_output', call_id: item.call_id, output: 'sunny' }];
      }
      if (item.type !== 'custom_tool_call') return [];
      return [{ type: 'custom_tool_call_output', call_id: item.call_id, output: 'done' }];
    });
    const input = [{ role: 'user' as const, content: 'use a tool' }, ...response.output, ...results];
    const next = await client.responses.create({ ...request, input: input as Item[] });
    expect(next.output_text).toMatch(/The tools said: sunny \| done$/);
    expect(next.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
  });

  it('iterates the events of a stream', async () => {
    const types: string[] = [];
    for await (const event of await client.responses.create({
      ...ask('hi', { content: 'a b' }),
      stream: true,
    })) {
      types.push(event.type);
    }
    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
  });

  it('parses documents and arguments by their schemas', async () => {
    const city = z.object({ name: z.string(), people: z.int().min(7) });
    const parsed = await client.responses.parse({
      ...ask('hi'),
      text: { format: zodTextFormat(city, 'city') },
    });
    expect(parsed.output_parsed).toEqual({ name: 'example', people: 7 });
    const tool = zodResponsesFunction({ name: 'look_up', parameters: city });
    const called = await client.responses.parse({ ...ask('hi'), tools: [tool], tool_choice: 'required' });
    expect(called.output).toMatchObject([{ parsed_arguments: { name: 'example', people: 7 } }]);
  });

  it('reads a response that is cut short', async () => {
    const request = { ...ask('one two three four five six seven eight'), max_output_tokens: 16 };
    const long = { ...request, input: Array(20).fill('word').join(' ') };
    for (const response of [
      await client.responses.create(long),
      await client.responses.stream(long).finalResponse(),
    ]) {
      expect(response).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        output: [{ type: 'message', status: 'incomplete' }],
        usage: { output_tokens: 16 },
      });
    }
    expect((await client.responses.create(request)).status).toBe('completed');
  });

  it.each([
    [400, OpenAI.BadRequestError],
    [401, OpenAI.AuthenticationError],
    [403, OpenAI.PermissionDeniedError],
    [404, OpenAI.NotFoundError],
    [429, OpenAI.RateLimitError],
    [500, OpenAI.InternalServerError],
  ])('raises its own error for %d', async (status, type) => {
    expect(await errorOf(client.responses.create(ask('hi', { status })))).toBeInstanceOf(type);
  });

  it('raises the error that a stream reports', async () => {
    const fault = {
      error_event_after_chunks: 1,
      error: { code: 'rate_limit_exceeded', message: 'Too many' },
    };
    const stream = client.responses.stream(ask('hi', fault));
    let text = '';
    stream.on('response.output_text.delta', ({ delta }) => (text += delta));
    const error = await errorOf(stream.finalResponse());
    expect([error.code, error.message, text]).toEqual(['rate_limit_exceeded', 'Too many', 'This ']);
  });

  it('reads a compaction and a count', async () => {
    const compacted = await client.responses.compact({ model: 'gpt-5', input: 'hi' });
    expect(compacted).toMatchObject({ object: 'response.compaction', usage: { output_tokens: 1 } });
    expect(compacted.output).toMatchObject([{ role: 'user', content: 'hi' }, { type: 'compaction' }]);
    const counted = await client.responses.inputTokens.count({ model: 'gpt-5', input: 'hi' });
    expect(counted.input_tokens).toBeGreaterThan(0);
    const [last] = compacted.output.slice(-1) as OpenAI.Responses.ResponseCompactionItem[];
    if (last === undefined) throw new Error('the compaction has no item');
    const input = [last, { role: 'user' as const, content: 'hi' }];
    expect((await client.responses.create({ model: 'gpt-5', input })).status).toBe('completed');
  });

  it('has a wrong key refused', async () => {
    const stranger = client.withOptions({ apiKey: 'sk-wrong' });
    expect(await errorOf(stranger.responses.create(ask('hi')))).toMatchObject({
      status: 401,
      code: 'invalid_api_key',
    });
  });
});
