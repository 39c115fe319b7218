import { createOpenAI } from '@ai-sdk/openai';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { generateText, isStepCount, streamText, tool, type ModelMessage } from 'ai';
import { z } from 'zod';
import { ChatHarness } from './chat-harness.ts';
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

/** Vercel's AI SDK, which names stored thoughts by their ids unless its user switches `store` off. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const openai = { kind: 'openai', base_url: `${provider.url}/v1`, max_retries: 0, api_key_env: 'UNUSED' };
  harness = await ChatHarness.start(
    {},
    {
      providers: [{ name: 'simulator', ...openai }],
      models: [{ id: 'gpt-5.4', provider: 'simulator', api: 'responses' }],
      embeddings: undefined,
    },
  );
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const principal = { tenantId: newId(), userId: 'ann' };
const asked: Fields[] = [];
const openai = createOpenAI({
  ...{ apiKey: 'unused', baseURL: 'http://gateway/v1' },
  fetch: async (_url, init) => {
    if (typeof init?.body !== 'string') throw new Error('the SDK sends a text');
    const body = JSON.parse(init.body) as Fields;
    asked.push(body);
    return harness.post('/v1/responses', body, {
      ...{ principal, headers: { 'x-gatehouse-dialect': 'responses' } },
    });
  },
});
const tools = {
  weather: tool({
    description: 'The weather of a city',
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => `sunny in ${city}`,
  }),
};
const first = [thought('rs_a'), callItem('call_a', 'weather', '{"city":"Hue"}')];
const second = [messageItem('It is sunny.', 'msg_a')];
const inputs = (): unknown[] =>
  provider.received.map(({ body }) => (JSON.parse(body.toString()) as Fields)['input']);
const typesOf = (input: unknown): unknown[] => (input as Fields[]).map(({ type, role }) => type ?? role);

describe("the AI SDK's agent", () => {
  it.each(['whole', 'streamed'])('goes on over turns with a call of a tool, %s', async (kind) => {
    asked.length = 0;
    const answers = [first, second, [messageItem('Nothing.', 'msg_b')]].map((output) =>
      kind === 'whole' ? whole(answerOf(output)) : streamed(framesOf(eventsOf(output))),
    );
    provider.answer(...answers);
    const messages: ModelMessage[] = [{ role: 'user', content: 'How is the weather in Hue?' }];
    const turn = async (): Promise<string> => {
      const options = { model: openai('gpt-5.4'), messages, tools, stopWhen: isStepCount(3), maxRetries: 0 };
      if (kind === 'whole') {
        const result = await generateText(options);
        messages.push(...result.responseMessages);
        return result.text;
      }
      const result = streamText(options);
      const text = await result.text;
      messages.push(...(await result.responseMessages));
      return text;
    };
    expect(await turn()).toBe('It is sunny.');
    messages.push({ role: 'user', content: 'And else?' });
    expect(await turn()).toBe('Nothing.');
    // It names thoughts by their ids alone.
    const called = ['item_reference', 'function_call', 'function_call_output'];
    expect(asked.map(({ input }) => typesOf(input))).toEqual([
      ['user'],
      ['user', ...called],
      ['user', ...called, 'assistant', 'user'],
    ]);
    const [, withResult, last] = inputs() as Fields[][];
    expect(withResult?.[1]).toEqual(first[0]);
    expect(last?.[1]).toEqual(first[0]);
  });
});
