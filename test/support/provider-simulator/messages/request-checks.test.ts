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

const tool = { name: 'go', input_schema: { type: 'object' } };
const thinking = { type: 'enabled', budget_tokens: 1024 };

type Case = [name: string, fields: object, message: RegExp];

const tools: Case[] = [
  ['a tool of chat', { tools: [{ type: 'function', function: tool }] }, /Input tag 'function'/],
  ['a tool without a schema', { tools: [{ name: 'go' }] }, /^tools\.0\.custom\.input_schema: Field/],
  ['a name with a space', { tools: [{ ...tool, name: 'go on' }] }, /^tools\.0\.custom\.name: String/],
  ['two tools of one name', { tools: [tool, tool] }, /^tools: Tool names must be unique/],
  ['a choice without tools', { tool_choice: { type: 'any' } }, /only be specified while providing/],
  ['a choice in the words of chat', { tools: [tool], tool_choice: 'auto' }, /^tool_choice: Input/],
  ['another choice', { tools: [tool], tool_choice: { type: 'tool', name: 'no' } }, /'no' not found/],
];

const thoughts: Case[] = [
  ['a budget like max_tokens', { thinking, max_tokens: 1024 }, /^`max_tokens` must be greater than/],
  ['a small budget', { thinking: { ...thinking, budget_tokens: 1023 } }, /equal to 1024$/],
  ['no budget', { thinking: { type: 'enabled' } }, /budget_tokens: Field required$/],
  ['another kind of thinking', { thinking: { type: 'high' } }, /^thinking: Input tag 'high'/],
  ...[{ type: 'any' }, { type: 'tool', name: 'go' }].map((choice): Case => [
    `thinking with the choice ${choice.type}`,
    { thinking: { type: 'adaptive' }, tools: [tool], tool_choice: choice },
    /^Thinking may not be enabled when tool_choice forces tool use\.$/,
  ]),
  ['thinking at another temperature', { thinking, temperature: 0.5 }, /^`temperature` may only/],
];

const parameters: Case[] = [
  ...['stream_options', 'max_completion_tokens', 'stop', 'response_format'].map((field): Case => [
    `${field} of chat`,
    { [field]: 1 },
    /Extra inputs are not permitted$/,
  ]),
  ['a blank stop sequence', { stop_sequences: ['\n'] }, /must contain non-whitespace$/],
];

describe('Anthropic refuses', () => {
  it.each([...tools, ...thoughts, ...parameters])('%s', async (_name, fields, message) => {
    const body = messagesBody('hi', fields);
    const seen = await callMessages(simulator, body);
    expect([seen.status, read(seen.text, 'error', 'type')]).toEqual([400, 'invalid_request_error']);
    expect(read(seen.text, 'error', 'message')).toEqual(expect.stringMatching(message));
    const counted = await callMessages(simulator, body, { path: '/v1/messages/count_tokens' });
    expect(counted.status).toBe(400);
  });

  it('sampling parameters in the newest version alone', async () => {
    const statusFor = async (version: string): Promise<number> =>
      (
        await callMessages(simulator, messagesBody('hi', { temperature: 0.5 }), {
          headers: { 'anthropic-version': version },
        })
      ).status;
    expect([await statusFor('2023-06-01'), await statusFor('2026-10-21')]).toEqual([200, 400]);
  });
});

describe('Anthropic accepts', () => {
  it.each([
    ['fields that it may get', { new_field: 1 }],
    ['thinking that is off', { thinking: { type: 'disabled' }, temperature: 0.5 }],
    [
      'thinking with a choice that forces no tool',
      { thinking, tools: [tool], tool_choice: { type: 'auto' } },
    ],
    ['tools that run at the provider', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
  ])('%s', async (_name, fields) => {
    expect((await callMessages(simulator, messagesBody('hi', fields))).status).toBe(200);
  });
});
