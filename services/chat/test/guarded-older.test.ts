import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { ChatHarness } from './chat-harness.ts';
import { apis } from './guarded-apis.ts';
import { guardedUser } from './guarding.ts';
import type { Fields } from './response-answers.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';
import { translatingHarness } from './translating-harness.ts';

/** Sessions with matches in names and ids of older calls, which can't be rewritten in a last message. */

const address = 'ann.lee@gmail.com';

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider);
});
beforeEach(() => provider.answer());
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

/** The body that the provider got last. */
const received = (): string => provider.received.at(-1)?.body.toString() ?? '';

const args = { [address]: 1, 'joe@corp.io': 2 };
const json = JSON.stringify(args);
const tool = { name: 'f', description: 'F.' };
const object = { type: 'object' };

/** Conversations with a call, its result, and a text of the client if there is one. */
const sessions: Record<string, (id: string, ...next: string[]) => Fields> = {
  chat: (id, ...next) => ({
    tools: [{ type: 'function', function: { ...tool, parameters: object } }],
    messages: [
      { role: 'user', content: 'Hi.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: json } }],
      },
      { role: 'tool', tool_call_id: id, content: 'Done.' },
      ...next.map((content) => ({ role: 'user', content })),
    ],
  }),
  responses: (id, ...next) => ({
    store: false,
    tools: [{ type: 'function', ...tool, parameters: object, strict: false }],
    input: [
      { role: 'user', content: 'Hi.' },
      { type: 'function_call', call_id: id, name: 'f', arguments: json },
      { type: 'function_call_output', call_id: id, output: 'Done.' },
      ...next.map((content) => ({ role: 'user', content })),
    ],
  }),
  messages: (id, ...next) => ({
    max_tokens: 9,
    tools: [{ ...tool, input_schema: object }],
    messages: [
      { role: 'user', content: 'Hi.' },
      { role: 'assistant', content: [{ type: 'tool_use', id, name: 'f', input: args }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: id, content: 'Done.' },
          ...next.map((text) => ({ type: 'text', text })),
        ],
      },
    ],
  }),
  gemini: (id, ...next) => ({
    tools: [{ functionDeclarations: [tool] }],
    contents: [
      { role: 'user', parts: [{ text: 'Hi.' }] },
      { role: 'model', parts: [{ functionCall: { id, name: 'f', args } }] },
      { role: 'user', parts: [{ functionResponse: { id, name: 'f', response: { output: 'Done.' } } }] },
      ...next.map((text) => ({ role: 'user', parts: [{ text }] })),
    ],
  }),
};

const both = Object.entries(sessions).flatMap(([dialect, session]) =>
  (['block', 'mask'] as const).map((action) => ({ dialect, session, action })),
);

it.each(both)('a session of $dialect goes on after $action', async ({ dialect, session, action }) => {
  const api = apis[dialect];
  const ask = (body: Fields): Promise<Response> =>
    harness.post(
      api?.path ?? '',
      { model: api?.model, ...body },
      { principal: guardedUser(harness, { action }), headers: { 'x-gatehouse-dialect': dialect } },
    );
  provider.answer(whole(api?.answer ?? {}), whole(api?.answer ?? {}));
  const names = action === 'block' ? ['[BLOCKED]', '[BLOCKED] 1'] : ['[EMAIL]', '[EMAIL] 1'];
  const written = JSON.stringify(Object.fromEntries(names.map((name, index) => [name, index + 1])));

  expect((await ask(session('call_1'))).status).toBe(200);
  expect(received().replaceAll('\\', '')).toContain(written);
  expect(received()).not.toMatch(/ann\.lee|joe@/);

  // An id stands in the result too, which is a part of the last message until words follow.
  const id = `call ${address}`;
  expect((await ask(session(id))).status).toBe(400);
  expect((await ask(session(id, 'And?'))).status).toBe(200);
  expect(received().split(action === 'block' ? 'BLOCKED_1' : 'EMAIL_1')).toHaveLength(3);
  expect(received()).not.toMatch(/ann\.lee|joe@/);
});
