import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ChatHarness } from './chat-harness.ts';
import { completion, message, messageEvents, type Fields } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';
import { ScriptedProvider, streamed, whole } from './scripted-provider.ts';

/** Bodies of responses at chat completions, as Cursor sends them. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider, [
    { id: 'gpt', provider: 'simulator' },
    { id: 'claude', provider: 'quick' },
    { id: 'gpt-then-claude', provider: 'simulator', fallbacks: ['claude'] },
  ]);
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const parameters = { type: 'object', properties: { q: { type: 'string' } } };
const body = {
  ...{ instructions: 'Be brief.', store: false, max_output_tokens: 50 },
  input: [
    { role: 'user', content: [{ type: 'input_text', text: 'Find it.' }] },
    { type: 'function_call', call_id: 'call_1', name: 'search', arguments: '{"q":"it"}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'Here.' },
  ],
  tools: [{ type: 'function', name: 'search', description: 'Searches.', parameters }],
};

async function post(fields: object): Promise<{ text: string; ignored: string | null; sent: Fields[] }> {
  const response = await harness.post('/v1/chat/completions', JSON.stringify({ ...body, ...fields }), {
    headers: { 'x-gatehouse-dialect': 'chat' },
  });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.anything()]);
  const sent = provider.received.map((each) => JSON.parse(each.body.toString()) as Fields);
  return { text, ignored: response.headers.get('x-gateway-ignored'), sent };
}

const asChat = {
  max_completion_tokens: 50,
  tools: [{ type: 'function', function: { name: 'search' } }],
  messages: [{ role: 'system' }, { role: 'user' }, { role: 'assistant' }, { role: 'tool' }],
};
const asMessages = {
  max_tokens: 50,
  tools: [{ name: 'search' }],
  messages: [
    { role: 'user' },
    { role: 'assistant', content: [{ type: 'tool_use', name: 'search', input: { q: 'it' } }] },
    { role: 'user', content: [{ type: 'tool_result' }] },
  ],
};

it('reach a model of chat as chat, and what is left out is named', async () => {
  provider.answer(whole(completion({ content: 'Found.' })));
  const { text, ignored, sent } = await post({ model: 'gpt' });
  expect(JSON.parse(text)).toMatchObject({ object: 'chat.completion' });
  expect(ignored).toBe('store');
  expect(sent).toMatchObject([asChat]);
});

it("reach a model of Anthropic's, and the stream is one of chat", async () => {
  provider.answer(streamed(messageEvents([{ type: 'text', text: 'Found.' }])));
  const { text, ignored, sent } = await post({ model: 'claude', stream: true });
  expect(text).toContain('"object":"chat.completion.chunk"');
  expect(ignored).toContain('store');
  expect(sent).toMatchObject([asMessages]);
});

it('reach a fallback of another API', async () => {
  provider.answer(
    whole({ error: { message: 'gone' } }, 404),
    whole(message([{ type: 'text', text: 'Found.' }])),
  );
  const { text, sent } = await post({ model: 'gpt-then-claude' });
  expect(JSON.parse(text)).toMatchObject({
    object: 'chat.completion',
    choices: [{ message: { content: 'Found.' } }],
  });
  expect(sent).toMatchObject([asChat, asMessages]);
});
