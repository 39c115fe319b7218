import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { ask, translator } from '../../test/translating.ts';

const toChat = translator('messages', 'chat');
const cached = { cache_control: { type: 'ephemeral' } };

describe('a request of messages for a model of chat completions', () => {
  it('is translated with everything that Claude Code sends in a turn, and names the hints', async () => {
    const { body, ignored } = await toChat({
      model: 'claude-opus-5-5',
      max_tokens: 128_000,
      stream: true,
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1; cch=00000;' },
        { type: 'text', text: 'You are a CLI.' },
        { type: 'text', text: 'Be brief.', ...cached },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Rename foo.' },
            { type: 'text', text: 'Now.', ...cached },
          ],
        },
        {
          role: 'system',
          content: [{ type: 'text', text: 'Plan mode is on.' }],
          output_config: { effort: 'low' },
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'anthropic-only' },
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 'toolu_1', name: 'Read', input: { path: 'a' } },
            { type: 'tool_use', id: 'toolu_2', name: 'Shot', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_2',
              content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }],
            },
            { type: 'tool_result', tool_use_id: 'toolu_1', is_error: true, content: 'no file' },
            { type: 'text', text: 'Go on.' },
          ],
        },
      ],
      tools: [
        { name: 'Read', description: 'Reads', input_schema: { type: 'object', properties: {} }, ...cached },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      thinking: { type: 'adaptive', display: 'updates' },
      output_config: { effort: 'medium' },
      metadata: { user_id: 'x' },
      context_management: { edits: [] },
      safeguards: [{ type: 'dangerous_tool_use' }],
    });
    expect(body).toEqual({
      model: 'm-1',
      messages: [
        { role: 'system', content: 'You are a CLI.\n\nBe brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Rename foo.' },
            { type: 'text', text: 'Now.' },
          ],
        },
        { role: 'system', content: 'Plan mode is on.' },
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: [
            { id: 'toolu_1', type: 'function', function: { name: 'Read', arguments: '{"path":"a"}' } },
            { id: 'toolu_2', type: 'function', function: { name: 'Shot', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'toolu_1', content: 'Error: no file' },
        { role: 'tool', tool_call_id: 'toolu_2', content: 'The result is in the next message.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'From the result of toolu_2:' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
            { type: 'text', text: 'Go on.' },
          ],
        },
      ],
      max_completion_tokens: 64_000,
      tools: [
        {
          type: 'function',
          function: { name: 'Read', description: 'Reads', parameters: { type: 'object', properties: {} } },
        },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      reasoning_effort: 'medium',
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(ignored.toSorted()).toEqual([
      'cache_control',
      'context_management',
      'max_tokens',
      'messages.output_config',
      'metadata',
      'safeguards',
      'thinking.display',
    ]);
  });

  it('keeps documents as files and texts', async () => {
    const pdf = {
      type: 'document',
      title: 'a.pdf',
      source: { type: 'base64', media_type: 'application/pdf', data: 'AA==' },
    };
    const text = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'plain' } };
    const { body } = await toChat({ messages: [{ role: 'user', content: [pdf, text] }], max_tokens: 1 });
    expect(body['messages']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } },
          { type: 'text', text: 'plain' },
        ],
      },
    ]);
  });

  it('asks for a schema strictly where OpenAI can hold it', async () => {
    const asked = async (schema: object): Promise<unknown> => {
      const output_config = { format: { type: 'json_schema', schema } };
      const { body } = await toChat({ messages: ask, max_tokens: 1, output_config });
      return body['response_format'];
    };
    const strict = { type: 'object', properties: { a: {} }, required: ['a'], additionalProperties: false };
    const loose = { ...strict, required: [] };
    expect(await asked(strict)).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', schema: strict, strict: true },
    });
    expect(await asked(loose)).toMatchObject({ json_schema: { schema: loose, strict: false } });
  });

  const off = { thinking: { type: 'disabled' } };
  const max = { output_config: { effort: 'max' } };
  const low = { output_config: { effort: 'low' } };
  it.each([
    ['an effort', low, {}, ['low']],
    ['less', max, {}, ['high', 'thinking']],
    ['less than the most', max, { name: 'gpt-5.4' }, ['xhigh', 'thinking']],
    ['an effort of the newest', max, { name: 'gpt-6-sol' }, ['max']],
    ['a budget', { thinking: { type: 'enabled', budget_tokens: 2_048 } }, {}, ['low']],
    ['a large budget', { thinking: { type: 'enabled', budget_tokens: 31_999 } }, {}, ['high']],
    ['nothing, where thinking is off', off, {}, [undefined, 'thinking']],
    ['nothing, as it is off', off, { name: 'gpt-5.1' }, ['none']],
    ['the least, as it always thinks', off, { name: 'gpt-5' }, ['minimal', 'thinking']],
    ['the least of an old one', off, { name: 'openai/o3' }, ['low', 'thinking']],
    ['the least of a new one', off, { name: 'gpt-6-astra' }, ['low', 'thinking']],
    ['the only effort', low, { name: 'gpt-5-pro' }, ['high', 'thinking']],
    ['the least of a newer one', low, { name: 'gpt-5.2-pro' }, ['medium', 'thinking']],
    ['the most of one for code', max, { name: 'gpt-5.3-codex' }, ['xhigh', 'thinking']],
    ['the most of an early one', max, { name: 'gpt-5.1-codex-max' }, ['xhigh', 'thinking']],
    ['the most of a small one', max, { name: 'gpt-5.1-codex-mini' }, ['high', 'thinking']],
    ['nothing, as it takes no effort', low, { name: 'o1-mini' }, [undefined, 'thinking']],
    ['nothing, as it does not think', low, { reasoning: false }, [undefined, 'thinking']],
  ])('asks a model to think by %s', async (_name, asked, model, [effort, ...named]) => {
    const { body, ignored } = await toChat({ messages: ask, max_tokens: 1, ...asked }, model);
    expect(body['reasoning_effort']).toBe(effort);
    expect(ignored).toEqual(named);
  });

  it.each([
    ['gpt-5', {}, false],
    ['gpt-5-chat-latest', {}, true],
    ['chat-gpt-5-mini', {}, false],
    ['gpt-5.1', {}, true],
    ['gpt-5.4-mini', {}, true],
    ['gpt-5.4', low, false],
    ['gpt-5.5', {}, false],
    ['gpt-5.6-luna', {}, false],
    ['gpt-5.1', { thinking: { type: 'disabled' } }, true],
    ['gpt-6-astra', { thinking: { type: 'disabled' } }, false],
    ['gpt-4.1', {}, true],
    ['o3', {}, false],
    ['kimi-k2.5', {}, false],
    ['gpt-oss-120b', {}, true],
  ])('samples at %s with %j: %s', async (name, asked, isTaken) => {
    const sampling = { temperature: 0.5, top_p: 0.5 };
    const { body, ignored } = await toChat({ messages: ask, max_tokens: 1, ...sampling, ...asked }, { name });
    expect([body['temperature'], body['top_p']]).toEqual(isTaken ? [0.5, 0.5] : [undefined, undefined]);
    expect(ignored.includes('temperature')).toBe(!isTaken);
  });

  it.each([
    ['gpt-5.6-luna', low, ['none', 'thinking']],
    ['gpt-5.5', low, ['none', 'thinking']],
    ['gpt-5.5', off, ['none']],
    // It does not think without a word, and refuses each word.
    ['gpt-5.4', low, [undefined, 'thinking']],
    ['gpt-5.4-nano', off, [undefined]],
    ['gpt-5.4', {}, [undefined]],
    ['gpt-5.2', low, ['low']],
  ])('lets %s with tools and %j think as far as it takes both', async (name, asked, expected) => {
    const tools = [{ name: 'f', input_schema: { type: 'object', properties: {} } }];
    const { body, ignored } = await toChat({ messages: ask, max_tokens: 1, tools, ...asked }, { name });
    expect([body['reasoning_effort'], ...ignored]).toEqual(expected);
  });

  it.each([
    ['kimi-k2.5', off, { type: 'disabled' }, []],
    ['moonshotai/kimi-k2.6', off, { type: 'disabled' }, []],
    ['deepseek-v4-flash', off, { type: 'disabled' }, []],
    ['kimi-k2.5', low, undefined, []],
    // They think always.
    ['kimi-k3', off, undefined, ['thinking']],
    ['kimi-k2.7-code', off, undefined, ['thinking']],
    ['deepseek-chat', off, undefined, ['thinking']],
    ['kimi-k2.5', {}, undefined, []],
  ])('switches thinking of %s off by %j: %j', async (name, asked, thinking, left) => {
    const atMaker = { name, takesThinking: true };
    const { body, ignored } = await toChat({ messages: ask, max_tokens: 1, ...asked }, atMaker);
    expect([body['thinking'], ignored]).toEqual([thinking, left]);
    expect(body['reasoning_effort']).toBe(asked === low ? 'low' : undefined);
  });

  it.each(['kimi-k2.5', 'moonshotai/kimi-k2.6', 'deepseek-v4-flash'])(
    'names thinking of %s that is not switched off at a host without a field for it',
    async (name) => {
      const request = { messages: ask, max_tokens: 1, ...off };
      const { body, ignored } = await toChat(request, { name });
      expect([body['thinking'], body['reasoning_effort'], ignored]).toEqual([
        undefined,
        undefined,
        ['thinking'],
      ]);
      const responses = await translator('messages', 'responses')({ ...request, max_tokens: 16 }, { name });
      expect([responses.body['reasoning'], responses.ignored]).toEqual([undefined, ['thinking']]);
      // The operator's proxy passes the field on.
      const set = await toChat(request, { name, thinkingOff: true });
      expect([set.body['thinking'], set.body['reasoning_effort'], set.ignored]).toEqual([
        ...[{ type: 'disabled' }, undefined],
        [],
      ]);
    },
  );

  it.each(['gpt-5', 'o4-mini', 'gpt-5.1', 'gpt-6-sol', 'grok-4.5', 'grok-code-fast-1'])(
    'refuses sequences that stop an answer for %s, which has none',
    async (name) => {
      const request = { messages: ask, max_tokens: 1 };
      await expect(toChat({ ...request, stop_sequences: ['END'] }, { name })).rejects.toMatchObject({
        ...{ code: 'unsupported_parameter', param: 'stop_sequences' },
      });
      const { body, ignored } = await toChat({ ...request, stop_sequences: [''] }, { name });
      expect([body['stop'], ignored]).toEqual([undefined, ['stop_sequences']]);
    },
  );

  it.each(['gpt-4.1', 'gpt-5-chat-latest', 'grok-4-fast-non-reasoning', 'gpt-oss-120b', 'kimi-k2.5'])(
    'stops answers of %s at sequences',
    async (name) => {
      const { body } = await toChat({ messages: ask, max_tokens: 1, stop_sequences: ['END'] }, { name });
      expect(body['stop']).toEqual(['END']);
    },
  );

  it('samples at OpenAI’s responses as far as the model does not think', async () => {
    const toResponses = translator('messages', 'responses');
    const request = { messages: ask, max_tokens: 16, temperature: 0.5 };
    const sampled = async (name: string, more: object = {}): Promise<unknown> =>
      (await toResponses({ ...request, ...more }, { name })).body['temperature'];
    expect([await sampled('gpt-5.2'), await sampled('gpt-5.2', low)]).toEqual([0.5, undefined]);
    expect([await sampled('gpt-5.5'), await sampled('gpt-5.5', off)]).toEqual([undefined, 0.5]);
  });

  it.each([
    ['container', { container: 'c' }],
    ['mcp_servers', { mcp_servers: [{ url: 'https://a.example' }] }],
    ['tools[0].type', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    [
      'messages[0].content[0].source.type',
      { messages: [{ role: 'user', content: [image({ type: 'file', file_id: 'f' })] }] },
    ],
    [
      'messages[0].content[1].type',
      { messages: [{ role: 'user', content: [{ type: 'text', text: '' }, { type: 'container_upload' }] }] },
    ],
    [
      'messages[0].content[0]',
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'document', source: { type: 'url', url: 'https://a.example/a.pdf' } }],
          },
        ],
      },
    ],
  ])('is refused for %s, which has no place in it', async (param, fields) => {
    await expect(toChat({ messages: ask, max_tokens: 1, ...fields })).rejects.toMatchObject({
      code: 'unsupported_parameter',
      param,
    });
  });
});

function image(source: Fields): Fields {
  return { type: 'image', source };
}
