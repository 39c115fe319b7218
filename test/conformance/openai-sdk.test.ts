import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { endedTrace } from '@gatehouse/test/ended-trace';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';
import type OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import type { ChatCompletionChunk, ChatCompletionFunctionTool } from 'openai/resources/chat/completions';
import { z } from 'zod';
import { lastProviderBody, say, sdkClient, simulate } from './sdk.ts';

/** The official SDK against the gateway: what an application does that only changes its base URL and key. */
let gateway: SomeGateway;
let tenant: TenantAccess;
let client: OpenAI;

beforeAll(async () => {
  gateway = await openGateway();
  tenant = await gateway.makeTenant();
  client = sdkClient(gateway, tenant.userKey);
  const agent = { key: 'poet', name: 'Poet', model: 'small', system_prompt: 'Answer in verse.' };
  expect((await gateway.call('/v1/agents', { key: tenant.adminKey, body: agent })).status).toBe(201);
});
afterAll(async () => gateway.stop());

async function collect(stream: AsyncIterable<ChatCompletionChunk>): Promise<ChatCompletionChunk[]> {
  const chunks: ChatCompletionChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

function textOf(chunks: readonly ChatCompletionChunk[], index = 0): string {
  return chunks
    .flatMap(({ choices }) => choices)
    .filter((choice) => choice.index === index)
    .map(({ delta }) => delta.content ?? '')
    .join('');
}

const weather: ChatCompletionFunctionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

describe('models', () => {
  it('are listed, the tenant’s agents among them', async () => {
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toEqual(expect.arrayContaining(['small', 'vendor/large', 'agent:poet']));
  });

  it.each(['small', 'vendor/large', 'agent:poet'])('are retrieved by their id: %s', async (id) => {
    expect(await client.models.retrieve(id)).toMatchObject({ id, object: 'model' });
  });
});

describe('a chat completion', () => {
  it('comes with its text, usage and request id', async () => {
    const completion = await client.chat.completions.create({
      ...say('hello'),
      ...simulate({ content: 'Good day to you.', usage: { prompt_tokens: 9, cached_tokens: 4 } }),
    });
    expect(completion.choices[0]).toMatchObject({
      message: { role: 'assistant', content: 'Good day to you.', refusal: null },
      finish_reason: 'stop',
    });
    expect(completion.usage).toMatchObject({
      prompt_tokens: 9,
      completion_tokens: 4,
      total_tokens: 13,
      prompt_tokens_details: { cached_tokens: 4 },
    });
    expect(await endedTrace(gateway, 'request_id', completion._request_id ?? null)).toMatchObject({
      status: 'ok',
    });
  });

  it('keeps a request id and passes parameters on that the SDK does not know', async () => {
    const { request_id: requestId } = await client.chat.completions
      .create(
        { ...say('hello', 'vendor/large'), temperature: 0, ...{ brand_new_parameter: { deep: [1, null] } } },
        { headers: { 'x-request-id': 'my-own-id' } },
      )
      .withResponse();
    expect(requestId).toBe('my-own-id');
    expect(lastProviderBody(gateway)).toMatchObject({
      temperature: 0,
      brand_new_parameter: { deep: [1, null] },
    });
  });

  it('has two choices and their log probabilities when asked', async () => {
    const { choices } = await client.chat.completions.create({
      ...say('hello'),
      n: 2,
      logprobs: true,
      top_logprobs: 2,
      ...simulate({ content: 'one two' }),
    });
    expect(choices.map(({ index }) => index)).toEqual([0, 1]);
    for (const { logprobs } of choices) {
      expect(logprobs?.content?.map(({ token }) => token)).toEqual(['one ', 'two']);
      expect(logprobs?.content?.[0]?.top_logprobs).toHaveLength(2);
    }
  });

  it('of an agent has its system prompt first', async () => {
    const completion = await client.chat.completions.create(say('hello', 'agent:poet'));
    expect(completion.choices[0]?.message.content).toContain('You said: hello');
    expect(lastProviderBody(gateway)).toMatchObject({
      model: 'small',
      messages: [
        { role: 'system', content: 'Answer in verse.' },
        { role: 'user', content: 'hello' },
      ],
    });
  });

  it('follows a JSON schema', async () => {
    const { choices } = await client.chat.completions.create({
      ...say('hello'),
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'answer',
          strict: true,
          schema: {
            type: 'object',
            properties: { verdict: { type: 'string', enum: ['yes', 'no'] }, score: { type: 'integer' } },
            required: ['verdict', 'score'],
            additionalProperties: false,
          },
        },
      },
    });
    expect(JSON.parse(choices[0]?.message.content ?? '')).toEqual({
      verdict: 'yes',
      score: expect.any(Number),
    });
  });

  it('is parsed by the SDK’s own helper', async () => {
    const Answer = z.object({ city: z.string(), warm: z.boolean(), degrees: z.array(z.number()) });
    const { choices } = await client.chat.completions.parse({
      ...say('hello'),
      response_format: zodResponseFormat(Answer, 'weather'),
    });
    expect(Answer.parse(choices[0]?.message.parsed)).toEqual(choices[0]?.message.parsed);
  });

  it('runs tools until there is an answer', async () => {
    const cities: string[] = [];
    const runner = client.chat.completions.runTools({
      ...say('use the tool'),
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'The weather of a city',
            parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
            parse: (text: string) => JSON.parse(text) as { city: string },
            function: ({ city }: { city: string }) => {
              cities.push(city);
              return `sunny in ${city}`;
            },
          },
        },
      ],
    });
    const answer = await runner.finalContent();
    expect(cities).toHaveLength(1);
    expect(answer).toContain(`The tools said: sunny in ${cities[0] ?? ''}`);
    expect((await runner.totalUsage()).completion_tokens).toBeGreaterThan(0);
  });
});

describe('a streamed chat completion', () => {
  it('comes in the provider’s pieces, with one usage chunk at the end when asked', async () => {
    const stream = await client.chat.completions.create({
      ...say('hello'),
      stream: true,
      stream_options: { include_usage: true },
      ...simulate({ content: 'one two three', usage: { prompt_tokens: 5, reasoning_tokens: 2 } }),
    });
    const chunks = await collect(stream);
    expect(textOf(chunks)).toBe('one two three');
    expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1);
    expect(chunks.filter(({ usage }) => usage)).toHaveLength(1);
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 5, completion_tokens: 3, completion_tokens_details: { reasoning_tokens: 2 } },
    });
  });

  it('has no usage chunk when not asked', async () => {
    const chunks = await collect(await client.chat.completions.create({ ...say('hello'), stream: true }));
    expect(chunks.every(({ choices, usage }) => choices.length === 1 && !usage)).toBe(true);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop');
  });

  it('keeps index, id and order of parallel tool calls', async () => {
    const calls = [
      { name: 'get_weather', arguments: { city: 'Hà Nội' } },
      { name: 'get_weather', arguments: { city: 'Zürich', note: '"quoted" {brace}' } },
    ];
    const stream = await client.chat.completions.create({
      ...say('hello'),
      stream: true,
      tools: [weather],
      ...simulate({ tool_calls: calls, split_utf8: true }),
    });
    const chunks = await collect(stream);
    const deltas = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    const firsts = deltas.filter(({ id }) => id !== undefined);
    expect(firsts.map(({ index, type, function: called }) => [index, type, called?.name])).toEqual([
      [0, 'function', 'get_weather'],
      [1, 'function', 'get_weather'],
    ]);
    expect(new Set(firsts.map(({ id }) => id)).size).toBe(2);
    // Pieces of both calls take turns on the wire; each call's own are in order.
    expect(deltas.slice(2, 6).map(({ index }) => index)).toEqual([0, 1, 0, 1]);
    for (const [index, call] of calls.entries()) {
      const pieces = deltas.filter((delta) => delta.index === index);
      expect(JSON.parse(pieces.map((piece) => piece.function?.arguments ?? '').join(''))).toEqual(
        call.arguments,
      );
    }
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls');
  });

  it('has several choices and log probabilities when asked', async () => {
    const stream = await client.chat.completions.create({
      ...say('hello'),
      stream: true,
      n: 2,
      logprobs: true,
      top_logprobs: 1,
    });
    const chunks = await collect(stream);
    expect(textOf(chunks, 0)).toContain('You said: hello');
    expect(textOf(chunks, 1)).toContain('(choice 1)');
    const tokens = chunks.flatMap(({ choices }) => choices[0]?.logprobs?.content ?? []);
    expect(tokens.map(({ token }) => token).join('')).toContain('hello');
  });

  it('is put together by the SDK’s own helper', async () => {
    const seen: string[] = [];
    const stream = client.chat.completions
      .stream({
        ...say('hello', 'agent:poet'),
        stream_options: { include_usage: true },
        ...simulate({ content: 'một hai ba', split_utf8: true }),
      })
      .on('content', (delta) => seen.push(delta));
    const completion = await stream.finalChatCompletion();
    expect(seen).toEqual(['một ', 'hai ', 'ba']);
    expect(completion.choices[0]?.message.content).toBe('một hai ba');
    expect(completion.usage?.completion_tokens).toBe(3);
  });

  it('is parsed by the SDK’s own helper', async () => {
    const Answer = z.object({ city: z.string(), warm: z.boolean() });
    const stream = client.chat.completions.stream({
      ...say('hello'),
      response_format: zodResponseFormat(Answer, 'weather'),
    });
    const { choices } = await stream.finalChatCompletion();
    expect(Answer.parse(choices[0]?.message.parsed)).toEqual(choices[0]?.message.parsed);
  });
});

describe('embeddings', () => {
  const input = ['a house at the gate', 'a gate at the house', 'something else'];

  it('come as the SDK asks by default, in base64', async () => {
    const { data, usage } = await client.embeddings.create({ model: 'small', input });
    expect(lastProviderBody(gateway)['encoding_format']).toBe('base64');
    expect(data.map(({ index }) => index)).toEqual([0, 1, 2]);
    const floats = await client.embeddings.create({ model: 'small', input, encoding_format: 'float' });
    for (const [index, { embedding }] of data.entries()) {
      expect(embedding).toHaveLength(8);
      expect(embedding).toEqual(floats.data[index]?.embedding.map((value) => Math.fround(value)));
    }
    expect(usage.prompt_tokens).toBeGreaterThan(0);
  });

  it('have the dimensions that were asked for', async () => {
    const { data } = await client.embeddings.create({ model: 'vendor/large', input: 'one', dimensions: 32 });
    expect(data[0]?.embedding).toHaveLength(32);
  });
});

it('moderations come as the SDK reads them', async () => {
  const input = ['a house at the gate', 'a text about violence'];
  const { results } = await client.moderations.create({ model: 'small', input });
  expect(lastProviderBody(gateway)['input']).toEqual(input);
  expect(results.map(({ flagged, categories }) => [flagged, categories.violence])).toEqual([
    [false, false],
    [true, true],
  ]);
});
