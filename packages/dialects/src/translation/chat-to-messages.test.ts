import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import type { ModelFacts } from './api.ts';
import { ask, translator } from '../../test/translating.ts';

const toMessages = translator('chat', 'messages');
const place = { type: 'object', properties: { city: { type: 'string' } }, additionalProperties: false };

describe('a request of chat completions for a model of messages', () => {
  it('is translated with everything that coding agents send', async () => {
    const { body, ignored } = await toMessages({
      model: 'gpt-4.1',
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
        {
          role: 'user',
          name: 'ann',
          content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } }],
        },
        {
          role: 'assistant',
          content: null,
          refusal: null,
          tool_calls: [
            { id: 'call_a', type: 'function', function: { name: 'bash', arguments: '{"command":"ls"}' } },
            { id: 'call_b', type: 'function', function: { name: 'bash', arguments: '' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_b', content: 'b' },
        { role: 'system', content: 'Mind the time.' },
        { role: 'tool', tool_call_id: 'call_a', content: [{ type: 'text', text: 'a' }] },
        { role: 'user', content: 'Go on' },
      ],
      max_tokens: 100,
      temperature: 1.5,
      top_p: 0.9,
      stop: 'END',
      seed: 1,
      user: 'u',
      store: false,
      n: 1,
      stream: true,
      stream_options: { include_usage: true },
      tools: [
        {
          type: 'function',
          function: { name: 'bash', parameters: { type: 'object', properties: {} }, strict: false },
        },
      ],
      tool_choice: 'required',
      parallel_tool_calls: false,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'x', strict: true, schema: place },
      },
    });
    expect(body).toEqual({
      model: 'm-1',
      max_tokens: 100,
      system: [
        { type: 'text', text: 'Be kind.' },
        { type: 'text', text: 'Be brief.' },
      ],
      messages: [
        {
          role: 'user',
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }],
        },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'call_a', name: 'bash', input: { command: 'ls' } },
            { type: 'tool_use', id: 'call_b', name: 'bash', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_a', content: [{ type: 'text', text: 'a' }] },
            { type: 'tool_result', tool_use_id: 'call_b', content: [{ type: 'text', text: 'b' }] },
            { type: 'text', text: '<system-reminder>\nMind the time.\n</system-reminder>' },
            { type: 'text', text: 'Go on' },
          ],
        },
      ],
      stop_sequences: ['END'],
      temperature: 1,
      tools: [{ name: 'bash', input_schema: { type: 'object', properties: {} } }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      output_config: { format: { type: 'json_schema', schema: place } },
      stream: true,
    });
    expect(ignored.toSorted()).toEqual([
      'detail',
      'messages.name',
      'seed',
      'store',
      'temperature',
      'top_p',
      'user',
    ]);
  });

  it('takes the limit of the model where the client has none, and never exceeds it', async () => {
    const limitOf = async (asked: Fields, model?: Partial<ModelFacts>): Promise<unknown> =>
      (await toMessages({ messages: ask, ...asked }, model)).body['max_tokens'];
    expect(await limitOf({})).toBe(64_000);
    expect(await limitOf({ max_completion_tokens: 99_000 })).toBe(64_000);
    expect(await limitOf({}, { maxOutputTokens: null })).toBe(8_192);
  });

  it.each([
    [
      'claude-sonnet-4-5-20250929',
      { reasoning_effort: 'low' },
      { type: 'enabled', budget_tokens: 4_096 },
      undefined,
    ],
    ['claude-opus-5-5', { reasoning_effort: 'minimal' }, { type: 'adaptive' }, { effort: 'low' }],
    ['anthropic.claude-sonnet-4-6', { reasoning_effort: 'high' }, { type: 'adaptive' }, { effort: 'high' }],
    ['claude-opus-5', { reasoning_effort: 'none' }, { type: 'disabled' }, undefined],
    ['claude-opus-5', {}, undefined, undefined],
    [
      'claude-opus-4-20250514',
      { thinking: { type: 'enabled', budget_tokens: 50_000 } },
      { type: 'enabled', budget_tokens: 32_000 },
      undefined,
    ],
  ])('asks %s to think', async (name, asked, thinking, config) => {
    const { body } = await toMessages({ messages: ask, ...asked }, { name });
    expect(body['thinking']).toEqual(thinking);
    expect(body['output_config']).toEqual(config);
  });

  const low = { effort: 'low' };
  it.each([
    ['claude-sonnet-4-5', { type: 'disabled' }, undefined, []],
    ['claude-opus-4-6', undefined, undefined, []],
    ['anthropic/claude-opus-4.8', undefined, undefined, []],
    ['claude-sonnet-5', { type: 'disabled' }, undefined, []],
    ['claude-opus-5', { type: 'disabled' }, undefined, []],
    ['claude-haiku-5-5', { type: 'disabled' }, undefined, []],
    ['claude-sonnet-5-5', { type: 'between_tools' }, undefined, []],
    ['claude-opus-5-5', undefined, low, ['reasoning_effort']],
    ['claude-fable-5', undefined, low, ['reasoning_effort']],
    ['claude-mythos-preview', undefined, low, ['reasoning_effort']],
    ['claude-opus-6', undefined, low, ['reasoning_effort']],
  ])('switches the thinking of %s off', async (name, thinking, config, named) => {
    const { body, ignored } = await toMessages({ messages: ask, reasoning_effort: 'none' }, { name });
    expect([body['thinking'], body['output_config'], ignored]).toEqual([thinking, config, named]);
  });

  const forced = { type: 'tool', name: 'bash' };
  it.each([
    ['claude-sonnet-4-5', { type: 'disabled' }, forced, ['reasoning_effort']],
    ['claude-opus-4-8', undefined, forced, ['reasoning_effort']],
    ['claude-opus-5', { type: 'adaptive' }, forced, []],
    ['claude-haiku-5-5', { type: 'adaptive' }, forced, []],
    ['claude-opus-5-5', { type: 'adaptive' }, { type: 'auto' }, ['tool_choice']],
    ['claude-sonnet-5-5', { type: 'adaptive' }, { type: 'auto' }, ['tool_choice']],
    ['claude-fable-5-1', { type: 'adaptive' }, { type: 'auto' }, ['tool_choice']],
  ])('forces a call of %s as far as it can be forced', async (name, thinking, choice, named) => {
    const tool_choice = { type: 'function', function: { name: 'bash' } };
    const request = { messages: ask, reasoning_effort: 'low', tools: [bash()], tool_choice };
    const { body, ignored } = await toMessages(request, { name });
    const others = ignored.filter((each) => each !== 'tools.parameters');
    expect([body['thinking'], body['tool_choice'], others]).toEqual([thinking, choice, named]);
  });

  it('names what a budget cannot be', async () => {
    const name = 'claude-sonnet-4-5';
    const thinking = { type: 'enabled', budget_tokens: 50_000 };
    const { ignored } = await translator('messages', 'messages')(
      { messages: ask, thinking, max_tokens: 8_000 },
      { name },
    );
    expect(ignored).toEqual(['thinking']);
    const adaptive = { messages: ask, thinking: { type: 'adaptive' }, max_tokens: 32_000 };
    expect(await translator('messages', 'messages')(adaptive, { name })).toMatchObject({
      body: { thinking: { type: 'enabled', budget_tokens: 4_096 } },
      ignored: ['thinking'],
    });
  });

  it('leaves sampling out where the model thinks, or takes none', async () => {
    const sampling = { temperature: 0.5, top_p: 0.5, presence_penalty: 0 };
    const thinking = await toMessages({ messages: ask, ...sampling, reasoning_effort: 'low' });
    expect([thinking.body['temperature'], thinking.ignored]).toEqual([
      undefined,
      ['presence_penalty', 'temperature', 'top_p'],
    ]);
    const refusing = await toMessages({ messages: ask, temperature: 0.5 }, { sampling: false });
    expect([refusing.body['temperature'], refusing.ignored]).toEqual([undefined, ['temperature']]);
  });

  it('asks for any JSON object in words, with thinking and tools as they are', async () => {
    const { body, ignored } = await toMessages({
      messages: [{ role: 'system', content: 'Be kind.' }, ...ask],
      ...{ response_format: { type: 'json_object' }, reasoning_effort: 'low' },
      tools: [{ type: 'function', function: { name: 'f' } }],
    });
    expect(body).toMatchObject({
      system: [{ text: 'Be kind.' }, { text: expect.stringContaining('one JSON object') }],
      ...{ messages: ask.map(() => ({ role: 'user' })), tools: [{ name: 'f' }] },
    });
    expect(body['thinking']).not.toEqual({ type: 'disabled' });
    expect([body['tool_choice'], body['output_config'], ignored]).toEqual([undefined, undefined, []]);
  });

  it.each(['chat', 'responses'] as const)(
    'in %s names JSON, without which OpenAI refuses it',
    async (api) => {
      const fromGemini = translator('gemini', api);
      const asked = (text: string): Fields => ({
        contents: [{ role: 'user', parts: [{ text }] }],
        generationConfig: { responseMimeType: 'application/json' },
      });
      expect((await fromGemini(asked('A cat.'))).text).toContain('one JSON object');
      expect((await fromGemini(asked('A cat as JSON.'))).text).not.toContain('one JSON object');
    },
  );

  it.each([
    ['n', { n: 2 }],
    ['logprobs', { logprobs: true }],
    ['logit_bias', { logit_bias: { 1: 2 } }],
    ['modalities', { modalities: ['text', 'audio'] }],
    ['web_search_options', { web_search_options: {} }],
    ['tools[0].type', { tools: [{ type: 'web_search' }] }],
    [
      'messages[0].content[0]',
      {
        messages: [
          { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }] },
        ],
      },
    ],
    [
      'messages[0].content[0].file.file_id',
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
    ],
  ])('is refused for %s, which has no place in it', async (param, fields) => {
    await expect(toMessages({ messages: ask, ...fields })).rejects.toMatchObject({
      code: 'unsupported_parameter',
      param,
    });
  });

  it('passes fields that ask for nothing', async () => {
    const nothing = { n: null, logprobs: false, logit_bias: {}, modalities: ['text'], top_logprobs: 0 };
    expect((await toMessages({ messages: ask, ...nothing })).ignored).toEqual([]);
  });

  it('reads the form before tools, and texts of the model alone', async () => {
    const { body } = await toMessages({
      functions: [{ name: 'f', parameters: { type: 'object' } }],
      function_call: { name: 'f' },
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
        { role: 'function', name: 'f', content: 'done' },
      ],
    });
    expect(body).toMatchObject({
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
      tool_choice: { type: 'tool', name: 'f' },
      messages: [
        { role: 'user' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1_0', name: 'f' }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1_0' }] },
      ],
    });
  });

  it('has a message where the client sends system texts alone', async () => {
    const { body } = await toMessages({
      messages: [
        { role: 'system', content: 'a' },
        { role: 'system', content: 'b' },
      ],
    });
    expect(body).toMatchObject({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
      ],
    });
  });

  it('defines the tools of calls before, where the client brings none any more', async () => {
    const { body } = await toMessages({
      messages: [
        ...ask,
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'x' },
      ],
    });
    expect([body['tools'], body['tool_choice']]).toEqual([
      [{ name: 'f', input_schema: { type: 'object', properties: {} } }],
      { type: 'none' },
    ]);
  });
});

function bash(): Fields {
  return { type: 'function', function: { name: 'bash', parameters: { type: 'object' } } };
}
