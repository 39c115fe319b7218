import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startProviderSimulator } from '../simulator.ts';
import type { ProviderSimulator } from '../simulator.ts';
import { read } from '../test-client.ts';
import { callMessages, messagesBody } from './messages-test-client.ts';

let simulator: ProviderSimulator;

beforeAll(async () => {
  simulator = await startProviderSimulator();
});

afterAll(() => simulator.close());

const text = (value: string): object => ({ type: 'text', text: value });
const user = (...content: unknown[]): object => ({ role: 'user', content });
const assistant = (...content: unknown[]): object => ({ role: 'assistant', content });
const use = (id: unknown, input: unknown = {}): object => ({ type: 'tool_use', id, name: 'go', input });
const result = (id: string, content: unknown = 'done'): object => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
});
const question = user(text('hi'));
const tool = { name: 'go', input_schema: { type: 'object' } };
const thinking = { type: 'enabled', budget_tokens: 1024 };

/** The messages of a request, and its other fields. */
type Case = [name: string, messages: object[], fields: object, message: RegExp];

const roles: Case[] = [
  ['another role', [question, { role: 'tool', content: 'x' }], {}, /^messages: Unexpected role "tool"/],
  ['a system message at first', [{ role: 'system', content: 'x' }, question], {}, /top-level `system` param/],
  [
    'a system message after the assistant',
    [question, assistant(text('a')), { role: 'system', content: 'x' }],
    {},
    /^messages\.2: role 'system' must follow/,
  ],
  [
    'a system message before the user',
    [question, { role: 'system', content: 'x' }, question],
    {},
    /^messages\.1: role 'system' must precede an 'assistant' message or end the array$/,
  ],
  ['a message without role', [{ content: 'x' }], {}, /^messages\.0\.role: Field required$/],
  ['a message without content', [{ role: 'user' }], {}, /^messages\.0\.content: Field required$/],
];

const contents: Case[] = [
  ['an empty message', [{ role: 'user', content: '' }], {}, /^messages\.0: all messages must have non-empty/],
  [
    'an empty text block',
    [user(text(''), text('hi'))],
    {},
    /^messages: text content blocks must be non-empty$/,
  ],
  ['a blank text block', [user(text(' \n'))], {}, /must contain non-whitespace text$/],
  [
    'an empty text in a tool result',
    [question, assistant(use('a')), user(result('a', [text('')]))],
    {},
    /non-em/,
  ],
  ['an empty system text', [question], { system: [text('')] }, /^system: text content blocks must be non-em/],
  ['an answer that begins with a blank end', [question, assistant(text('so '))], {}, /trailing whitespace$/],
  ['a block without type', [user({ text: 'hi' })], {}, /^messages\.0\.content\.0\.type: Field required$/],
  ['a call of the user', [user(use('a'))], {}, /`tool_use` blocks can only be in `assistant` messages$/],
];

const tools: Case[] = [
  [
    'a result without a call',
    [question, assistant(text('a')), user(result('b'))],
    {},
    /^messages\.2\.content\.0: unexpected `tool_use_id` found in `tool_result` blocks: b\./,
  ],
  [
    'a result of an earlier turn',
    [question, assistant(use('a')), user(result('a')), assistant(text('b')), user(result('a'))],
    {},
    /^messages\.4\.content\.0: unexpected `tool_use_id`/,
  ],
  [
    'a call without a result',
    [question, assistant(use('a'), use('b')), user(result('a'))],
    {},
    /^messages\.1: `tool_use` ids were found without `tool_result` blocks immediately after: b\./,
  ],
  ['a call at the end', [question, assistant(use('a'))], {}, /^messages\.1: `tool_use` ids were found/],
  [
    'a result after text',
    [question, assistant(use('a')), user(text('t'), result('a'))],
    {},
    /ids were found/,
  ],
  [
    'two results',
    [question, assistant(use('a')), user(result('a'), result('a'))],
    {},
    /have a single result/,
  ],
  [
    'two calls of one id',
    [question, assistant(use('a'), use('a')), user(result('a'))],
    {},
    /`tool_use` ids must be unique$/,
  ],
  [
    'an id with a dot',
    [question, assistant(use('call.1')), user(result('call.1'))],
    {},
    /^messages\.1\.content\.0\.tool_use\.id: String should match pattern/,
  ],
  ['an id of 65 characters', [question, assistant(use('a'.repeat(65))), question], {}, /\{1,64\}/],
  ['input as text', [question, assistant(use('a', '{}')), user(result('a'))], {}, /valid dictionary$/],
];

const thoughts: Case[] = [
  [
    'thinking of another provider',
    [question, assistant({ type: 'thinking', thinking: 'hm', signature: 'c2ln' }, text('a')), question],
    { thinking },
    /^messages\.1\.content\.0: Invalid `signature` in `thinking` block$/,
  ],
  [
    'thinking without a signature',
    [question, assistant({ type: 'thinking', thinking: 'hm' }, text('a')), question],
    {},
    /^messages\.1\.content\.0\.thinking\.signature: Field required$/,
  ],
  [
    'redacted thinking of another provider',
    [question, assistant({ type: 'redacted_thinking', data: 'ZGF0YQ==' }, text('a')), question],
    {},
    /^messages\.1\.content\.0: Invalid `data` in `redacted_thinking` block$/,
  ],
  [
    'a tool turn without its thinking',
    [question, assistant(use('a')), user(result('a'))],
    { thinking, tools: [tool] },
    /^messages\.1\.content\.0\.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`/,
  ],
];

describe('conversations that Anthropic refuses have', () => {
  it.each([...roles, ...contents, ...tools, ...thoughts])('%s', async (_name, messages, fields, message) => {
    const body = messagesBody('', { ...fields, messages });
    const seen = await callMessages(simulator, body);
    expect([seen.status, read(seen.text, 'error', 'type')]).toEqual([400, 'invalid_request_error']);
    expect(read(seen.text, 'error', 'message')).toEqual(expect.stringMatching(message));
    const counted = await callMessages(simulator, body, { path: '/v1/messages/count_tokens' });
    expect(counted.status).toBe(400);
  });

  it('thinking of another simulator, and thinking that was changed', async () => {
    const other = await startProviderSimulator();
    const seen = await callMessages(simulator, messagesBody('hi', { thinking }));
    const content = read(seen.text, 'content') as object[];
    const [thought, ...rest] = content;
    const echo = (...blocks: unknown[]): object =>
      messagesBody('', { thinking, messages: [question, assistant(...blocks), question] });
    expect((await callMessages(simulator, echo(...content))).status).toBe(200);
    expect((await callMessages(simulator, echo({ ...thought, thinking: 'else' }, ...rest))).status).toBe(400);
    expect((await callMessages(other, echo(...content))).status).toBe(400);
    await other.close();
  });
});

describe('conversations that Anthropic accepts have', () => {
  it.each([
    ['blocks that it may get', [user({ type: 'new_block' }, text('hi'))]],
    [
      'turns of several messages',
      [question, assistant(use('a'), use('b')), user(result('b')), user(result('a'))],
    ],
    ['a system message after the user', [question, { role: 'system', content: 'Be brief.' }]],
    ['the beginning of an answer', [question, assistant(text('so'))]],
    ['an empty message at the end', [question, { role: 'assistant', content: [] }]],
    ['text after results', [question, assistant(use('a')), user(result('a'), text('go on'))]],
    [
      'results without content',
      [question, assistant(use('a')), user({ type: 'tool_result', tool_use_id: 'a' })],
    ],
  ])('%s', async (_name, messages) => {
    const seen = await callMessages(simulator, messagesBody('', { messages }));
    expect(seen.text).toContain('"type":"message"');
    expect(seen.status).toBe(200);
  });
});
