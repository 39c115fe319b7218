import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ChatHarness } from './chat-harness.ts';
import { answerOf, eventsOf, framesOf, messageItem, type Fields } from './response-answers.ts';
import { ScriptedProvider, streamed, whole, type Script } from './scripted-provider.ts';
import { message, messageEvents } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** Calls of providers' own tools, which have a price each. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const price = { input_per_mtok: '0', output_per_mtok: '0' };
  const tools = { web_search: '0.01', file_search: '0.0025', code_interpreter: 0.03 };
  const priced = { ...price, per_tool_call: tools };
  harness = await translatingHarness(provider, [
    { id: 'gpt', provider: 'simulator', api: 'responses', reasoning: false, price: priced },
    { id: 'gpt-unpriced', provider: 'simulator', api: 'responses', reasoning: false, price },
    { id: 'claude', provider: 'quick', price: priced },
    { id: 'claude-unpriced', provider: 'quick', price },
    { id: 'gemini', provider: 'wrongkey', price: priced },
    { id: 'gemini-unpriced', provider: 'wrongkey', price },
  ]);
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const item = (type: string, fields: Fields = {}): Fields => ({
  ...{ type, id: `${type}_${JSON.stringify(fields).length}`, status: 'completed' },
  ...fields,
});
const output = [
  item('web_search_call', { action: { type: 'search', query: 'x' } }),
  item('web_search_call', { action: { type: 'open_page', url: 'x' } }),
  item('web_search_call'),
  item('web_search_call', { status: 'failed', n: 1 }),
  item('file_search_call'),
  item('code_interpreter_call'),
  messageItem('Found.'),
];
const searched = { server_tool_use: { web_search_requests: 3, web_fetch_requests: 2 } };
const said = message([{ type: 'text', text: 'Found.' }]);
const grounded = (queries: string[]): Fields => ({
  candidates: [
    {
      ...{ index: 0, content: { role: 'model', parts: [{ text: 'Found.' }] }, finishReason: 'STOP' },
      groundingMetadata: { webSearchQueries: queries },
    },
  ],
  usageMetadata: { promptTokenCount: 6, candidatesTokenCount: 5, totalTokenCount: 11 },
});
const gemini = (method: string) => (model: string) => `/v1beta/models/${model}:${method}`;
const contents = { contents: [{ role: 'user', parts: [{ text: 'x' }] }] };
const messages = { max_tokens: 100, messages: [{ role: 'user', content: 'x' }] };

interface Case {
  script: Script;
  dialect: string;
  path: (model: string) => string;
  body: Fields;
  usd: string;
}
const cases: Record<string, Case> = {
  'gpt, whole': {
    ...{ script: whole(answerOf(output)), dialect: 'responses', path: () => '/v1/responses' },
    ...{ body: { input: 'x' }, usd: '0.0525' },
  },
  'gpt, streamed': {
    ...{ script: streamed(framesOf(eventsOf(output))), dialect: 'responses', path: () => '/v1/responses' },
    ...{ body: { input: 'x', stream: true }, usd: '0.0525' },
  },
  'gpt, large': {
    script: whole(answerOf([...output, messageItem('x'.repeat(13_000_000), 'msg_2')])),
    ...{
      dialect: 'responses',
      path: () => '/v1/responses',
      body: { input: 'x', store: false },
      usd: '0.0525',
    },
  },
  'claude, whole': {
    script: whole({ ...said, usage: { ...(said['usage'] as Fields), ...searched } }),
    ...{ dialect: 'messages', path: () => '/v1/messages', body: messages, usd: '0.03' },
  },
  'claude, streamed': {
    script: streamed(
      messageEvents([{ type: 'text', text: 'Found.' }]).map((frame) =>
        frame.replace(
          '"usage":{"output_tokens":5}',
          `"usage":{"output_tokens":5,${JSON.stringify(searched).slice(1)}`,
        ),
      ),
    ),
    ...{ dialect: 'messages', path: () => '/v1/messages', body: { ...messages, stream: true }, usd: '0.03' },
  },
  'gemini, whole': {
    ...{ script: whole(grounded(['a', 'b'])), dialect: 'gemini', path: gemini('generateContent') },
    ...{ body: contents, usd: '0.02' },
  },
  'gemini, streamed': {
    script: streamed(
      [grounded(['a']), grounded(['a', 'b'])].map((response) => `data: ${JSON.stringify(response)}\n\n`),
    ),
    ...{ dialect: 'gemini', path: gemini('streamGenerateContent?alt=sse'), body: contents, usd: '0.02' },
  },
};

async function ended(model: string, { script, dialect, path, body }: Case): Promise<unknown> {
  provider.answer(script);
  const response = await harness.post(
    path(model),
    { ...body, ...(dialect !== 'gemini' && { model }) },
    { headers: { 'x-gatehouse-dialect': dialect } },
  );
  await response.text();
  return harness.endedRun(response.headers.get('x-run-id'));
}

describe("calls of a provider's own tools", () => {
  it.each(Object.entries(cases))('cost what the catalogue says: %s', async (name, asked) => {
    const [model = ''] = name.split(',');
    const pico = String(BigInt(Math.round(Number(asked.usd) * 10_000)) * 10n ** 8n);
    expect(await ended(model, asked)).toMatchObject({ priced: true, cost_pico: pico });
    expect(await ended(`${model}-unpriced`, asked)).toMatchObject({ priced: false });
  });
});
