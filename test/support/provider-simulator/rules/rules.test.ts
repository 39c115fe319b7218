import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startProviderSimulator, type ProviderSimulator } from '../simulator.ts';
import { rulesByApi, strictRefusal } from './rules.ts';

const paths = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  gemini: '/v1beta/models/x:generateContent',
  converse: '/model/x/converse',
  vertex: '/v1/projects/p/locations/l/publishers/google/models/x:generateContent',
};
const hello = [{ role: 'user', content: 'Hello' }];
const jpegAs = (type: string) => ({
  type: 'image',
  source: { type: 'base64', media_type: type, data: '/9j/4AAQ' },
});
const boundThought = {
  ...{ type: 'thinking', thinking: '' },
  signature: Buffer.from('msg_1~another-prefix code').toString('base64'),
};
const called = { role: 'assistant', content: [{ toolUse: { toolUseId: 'a', name: 'look', input: {} } }] };
const asked = { role: 'user', content: [{ text: 'Hello' }] };
const look = { name: 'look', parameters: { type: 'object', properties: {} } };
const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];
const callPart = { functionCall: { name: 'look', args: {} } };
const resultPart = { functionResponse: { name: 'look', response: {} } };

/** By rule: the API, a model and a request that is refused, and a model that takes the same request, or such a request. */
const broken: [rule: string, api: keyof typeof paths, model: string, body: object, taken: string | object][] =
  [
    ...(
      [
        [
          'anthropic-system-in-the-middle',
          'messages',
          'claude-opus-4-7',
          { messages: [...hello, { role: 'system', content: 'x' }] },
          'claude-opus-4-8',
        ],
        [
          'anthropic-image-type',
          'messages',
          'claude-opus-4-7',
          { messages: [{ role: 'user', content: [jpegAs('image/png')] }] },
          { messages: [{ role: 'user', content: [jpegAs('image/jpeg')] }] },
        ],
        [
          'anthropic-prefill',
          'messages',
          'claude-sonnet-4-6',
          { messages: [...hello, { role: 'assistant', content: 'x' }] },
          'claude-sonnet-4-5-20250929',
        ],
        [
          'anthropic-schema',
          'messages',
          'claude-sonnet-4-5',
          { messages: hello, output_config: { format: { schema: { type: 'object', properties: {} } } } },
          {
            messages: hello,
            output_config: { format: { schema: { type: 'object', additionalProperties: false } } },
          },
        ],
        [
          'anthropic-sampling',
          'messages',
          'claude-opus-4-7',
          { messages: hello, top_k: 3 },
          'claude-opus-4-20250514',
        ],
        [
          'anthropic-one-sampling',
          'messages',
          'claude-sonnet-4-5',
          { messages: hello, temperature: 0.5, top_p: 0.5 },
          'claude-3-7-sonnet-20250219',
        ],
        [
          'anthropic-thinking-off',
          'messages',
          'claude-opus-5-5',
          { messages: hello, thinking: { type: 'disabled' } },
          'claude-opus-5',
        ],
        [
          'anthropic-thinking-budget',
          'messages',
          'claude-opus-4-7',
          { messages: hello, thinking: { type: 'enabled', budget_tokens: 2_000 } },
          'claude-sonnet-4-5',
        ],
        [
          'anthropic-forced-call',
          'messages',
          'claude-sonnet-5-5',
          { messages: hello, tool_choice: { type: 'any' } },
          'claude-haiku-5-5',
        ],
        [
          'anthropic-bound-thinking',
          'messages',
          'claude-opus-5-5',
          { messages: [...hello, { role: 'assistant', content: [boundThought] }, ...hello] },
          'claude-opus-5',
        ],
        [
          'openai-tool-schema',
          'chat',
          'gpt-4.1',
          {
            messages: hello,
            tools: [{ type: 'function', function: { name: 'a', parameters: { type: 'object' } } }],
          },
          { messages: hello, tools: [{ type: 'function', function: look }] },
        ],
        [
          'openai-strict-schema',
          'responses',
          'gpt-5.4',
          { text: { format: { name: 'a', strict: true, schema: { type: 'object', properties: {} } } } },
          { text: { format: { name: 'a', strict: false, schema: { type: 'object', properties: {} } } } },
        ],
        ['openai-limit-field', 'chat', 'gpt-5.4', { messages: hello, max_tokens: 5 }, 'gpt-4o'],
        ['openai-sampling', 'chat', 'o3', { messages: hello, temperature: 0.5 }, 'gpt-5.1'],
        ['openai-effort', 'responses', 'gpt-5.1', { reasoning: { effort: 'minimal' } }, 'gpt-5'],
        [
          'openai-tools-with-effort',
          'chat',
          'gpt-5.6-luna',
          { messages: hello, tools: [{ type: 'function', function: look }] },
          { messages: hello, tools: [{ type: 'function', function: look }], reasoning_effort: 'none' },
        ],
        [
          'openai-item-ids',
          'responses',
          'gpt-5.4',
          {
            input: [
              { type: 'message', id: 'msg_1' },
              { type: 'message', id: 'msg_1' },
            ],
          },
          {
            input: [
              { type: 'message', id: 'msg_1' },
              { type: 'message', id: 'msg_2' },
            ],
          },
        ],
        [
          'openai-unknown-fields',
          'chat',
          'gpt-4.1',
          { messages: [{ role: 'assistant', content: 'x', reasoning_details: [] }] },
          'kimi-k2.5',
        ],
        ['kimi-sampling', 'chat', 'kimi-k2.5', { messages: hello, temperature: 0.3 }, 'kimi-k2'],
        [
          'kimi-reasoning-content',
          'chat',
          'kimi-k2.5',
          { messages: [{ role: 'assistant', tool_calls: [{ id: 'a' }] }] },
          { messages: [{ role: 'assistant', reasoning_content: '', tool_calls: [{ id: 'a' }] }] },
        ],
        [
          'deepseek-reasoning-content',
          'chat',
          'deepseek-v4',
          { messages: [{ role: 'assistant', tool_calls: [{ id: 'a' }] }] },
          'deepseek-chat',
        ],
        [
          'gemini-function-name',
          'gemini',
          'gemini-2.5-pro',
          { contents, tools: [{ functionDeclarations: [{ name: '21st' }] }] },
          { contents, tools: [{ functionDeclarations: [{ name: '_21.st' }] }] },
        ],
        [
          'vertex-call-ids',
          'vertex',
          'gemini-2.5-pro',
          {
            contents: [...contents, { role: 'model', parts: [{ functionCall: { id: 'a', name: 'look' } }] }],
          },
          { contents },
        ],
        [
          'gemini-order',
          'gemini',
          'gemini-2.5-pro',
          { contents: [{ role: 'model', parts: [callPart] }] },
          {
            contents: [
              ...contents,
              { role: 'model', parts: [callPart] },
              { role: 'user', parts: [resultPart] },
            ],
          },
        ],
        [
          'gemini-thinking-budget',
          'gemini',
          'gemini-2.5-pro',
          { contents, generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
          'gemini-2.5-flash',
        ],
        [
          'gemini-thinking-level',
          'gemini',
          'gemini-3.1-pro',
          { contents, generationConfig: { thinkingConfig: { thinkingLevel: 'minimal' } } },
          'gemini-3.8-flash',
        ],
        [
          'gemini-tools-with-format',
          'gemini',
          'gemini-2.5-pro',
          {
            contents,
            tools: [{ functionDeclarations: [{ name: 'look' }] }],
            generationConfig: { responseMimeType: 'application/json' },
          },
          'gemini-3.1-pro',
        ],
        [
          'gemini-call-signature',
          'gemini',
          'gemini-3.1-pro',
          {
            contents: [
              ...contents,
              { role: 'model', parts: [callPart] },
              { role: 'user', parts: [resultPart] },
            ],
          },
          'gemini-2.5-pro',
        ],
        [
          'gemini-corrupted-signature',
          'gemini',
          'gemini-2.5-pro',
          { contents: [{ role: 'model', parts: [{ text: 'x', thoughtSignature: 'b3RoZXI=' }] }] },
          { contents: [{ role: 'model', parts: [{ text: 'x', thoughtSignature: 'c2ltdWxhdG9y' }] }] },
        ],
        [
          'gemini-parts',
          'gemini',
          'gemini-3.1-pro',
          { contents: [{ role: 'user', parts: [] }] },
          { contents },
        ],
        [
          'converse-order',
          'converse',
          'amazon.nova-pro',
          { messages: [asked, asked] },
          { messages: [asked] },
        ],
        [
          'converse-tool-config',
          'converse',
          'amazon.nova-pro',
          { messages: [asked, called] },
          {
            messages: [asked, called],
            toolConfig: { tools: [{ toolSpec: { inputSchema: { json: { type: 'object' } } } }] },
          },
        ],
        [
          'converse-blocks',
          'converse',
          'amazon.nova-pro',
          { messages: [{ ...asked, content: [] }] },
          { messages: [asked] },
        ],
        [
          'converse-prefill',
          'converse',
          'anthropic.claude-opus-4-7-v1:0',
          { messages: [asked, { role: 'assistant', content: [{ text: 'x' }] }] },
          'anthropic.claude-sonnet-4-5-20250929-v1:0',
        ],
        [
          'converse-sampling',
          'converse',
          'us.anthropic.claude-opus-4-7',
          { messages: [asked], inferenceConfig: { temperature: 0 } },
          'amazon.nova-pro',
        ],
        [
          'converse-thinking',
          'converse',
          'anthropic.claude-opus-5-5',
          { messages: [asked], additionalModelRequestFields: { thinking: { type: 'disabled' } } },
          'anthropic.claude-opus-5',
        ],
      ] as const
    ).map((each): [string, keyof typeof paths, string, object, string | object] => [...each]),
  ];
const rules = Object.values(rulesByApi).flat();

it('has a public source and its day for each rule, and a request that breaks it', () => {
  for (const { source, date } of rules) {
    expect(source).toMatch(/^https:\/\//);
    expect(date).toMatch(/^20\d\d-\d\d-\d\d$/);
  }
  expect(rules.map(({ id }) => id).toSorted()).toEqual(broken.map(([id]) => id).toSorted());
});

it.each(broken)('refuses by %s in %s of %s', (...each) => {
  const [rule, api, model, body, taken] = each;
  expect(strictRefusal(paths[api], body, model)).toContain(`[rule ${rule}: `);
  const [other, fitting] = typeof taken === 'string' ? [taken, body] : [model, taken];
  expect(strictRefusal(paths[api], fitting, other)).toBeNull();
});

describe('a simulator', () => {
  let simulator: ProviderSimulator;
  beforeAll(async () => {
    simulator = await startProviderSimulator();
  });
  afterAll(async () => simulator.close());

  it('refuses by rules once they are strict', async () => {
    const body = JSON.stringify({ model: 'gpt-5.4', messages: hello, max_tokens: 5 });
    const status = async (): Promise<number> =>
      (await fetch(`${simulator.baseUrl}/chat/completions`, { method: 'POST', body })).status;
    expect(await status()).toBe(200);
    simulator.rules = 'strict';
    expect(await status()).toBe(400);
  });
});
