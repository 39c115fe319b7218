import { describe, expect, it } from '@jest/globals';
import type { Rewrite } from '../dialect.ts';
import { DroppedFields } from '../translation/dropped-fields.ts';
import { JsonSource } from '../wire/json-text.ts';
import { asChat } from './mixed-body.ts';
import { fieldNames } from './request-reader.ts';
import { readRequest } from './request.ts';

const rewrite: Rewrite = {
  ...{ model: 'up', includeUsage: false, systemPrompt: null, reference: null },
  ...{ defaults: {}, maxTokens: null, tools: null },
};
const read = (fields: object) => readRequest('chat', Buffer.from(JSON.stringify(fields)), fields);

/** The body for a provider, and the names left out. */
function sent(fields: object): { body: Record<string, unknown>; dropped: readonly string[] } {
  const source = read({ model: 'm', ...fields }).source({ release: () => undefined });
  const body = JSON.parse(source.rewritten(rewrite).toString()) as Record<string, unknown>;
  return { body, dropped: source.droppedFields?.({ api: 'chat', upstreamModel: 'up' }) ?? [] };
}

const parameters = { type: 'object', properties: {} };

describe('a body of responses at chat completions', () => {
  it('of Cursor is chat', () => {
    const { body, dropped } = sent({
      input: [
        { role: 'system', content: 'You are a coder.' },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello?' }] },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'I look.' }],
        },
        { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'ls', arguments: '{"p":1}' },
        { type: 'custom_tool_call', call_id: 'call_2', name: 'apply', input: 'patch' },
        { type: 'function_call_output', call_id: 'call_1', output: 'a.txt' },
        {
          type: 'custom_tool_call_output',
          call_id: 'call_2',
          output: [{ type: 'input_text', text: 'done' }],
        },
        {
          role: 'user',
          content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'low' }],
        },
      ],
      instructions: 'Be brief.',
      tools: [
        { type: 'function', name: 'ls', description: 'Lists', parameters, strict: true },
        { type: 'custom', name: 'apply', format: { type: 'grammar', syntax: 'lark', definition: 'd' } },
      ],
      tool_choice: { type: 'function', name: 'ls' },
      ...{
        max_output_tokens: 9,
        reasoning: { effort: 'low', summary: 'auto' },
        stream: true,
        temperature: 1,
      },
      text: { verbosity: 'low', format: { type: 'json_schema', name: 'n', schema: {}, strict: true } },
      ...{ include: ['reasoning.encrypted_content'], store: false, truncation: 'auto', user: 'u' },
    });
    expect(body).toEqual({
      ...{ model: 'up', stream: true, temperature: 1, user: 'u' },
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'system', content: 'You are a coder.' },
        { role: 'user', content: [{ type: 'text', text: 'Hello?' }] },
        {
          role: 'assistant',
          content: [{ type: 'text', text: 'I look.' }],
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'ls', arguments: '{"p":1}' } },
            { id: 'call_2', type: 'custom', custom: { name: 'apply', input: 'patch' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'a.txt' },
        { role: 'tool', tool_call_id: 'call_2', content: [{ type: 'text', text: 'done' }] },
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } }],
        },
      ],
      tools: [
        { type: 'function', function: { name: 'ls', description: 'Lists', parameters, strict: true } },
        {
          type: 'custom',
          custom: {
            name: 'apply',
            format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'd' } },
          },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'ls' } },
      ...{ max_completion_tokens: 9, reasoning_effort: 'low', verbosity: 'low' },
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema: {}, strict: true } },
    });
    expect(dropped).toEqual([...['input.reasoning', 'include', 'store', 'truncation', 'reasoning.summary']]);
  });

  it('may be one text, and is read as chat', () => {
    expect(sent({ input: 'Hello?', instructions: '' }).body).toEqual({
      ...{ model: 'up', messages: [{ role: 'user', content: 'Hello?' }] },
    });
    const request = read({ model: 'm', messages: null, input: 'Hello?', stream: true });
    expect([request.lastUserText()?.text, request.stream, request.inputPreview(9)]).toEqual([
      ...['Hello?', true, 'Hello?'],
    ]);
  });

  it.each<[object, object]>([
    [{ input: [] }, { code: 'invalid_value', param: 'messages' }],
    [{ input: ['x'] }, { code: 'invalid_type', param: 'messages[0]' }],
    [{ input: [{ content: 'x' }] }, { param: 'messages[0].role' }],
    [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, { code: 'invalid_value', param: 'messages' }],
    [{ input: [{ type: 'compaction_trigger' }] }, { code: 'unsupported_parameter', param: 'input.type' }],
    [{ input: 'x', previous_response_id: 'resp_1' }, { param: 'previous_response_id' }],
    [{ input: 'x', background: true }, { param: 'background' }],
    [
      { input: 'x', instructions: 1 },
      { code: 'invalid_type', param: 'instructions' },
    ],
    [
      { input: 'x', temperature: 'warm' },
      { code: 'invalid_type', param: 'temperature' },
    ],
    [{ input: 'x', Model: 'n' }, { code: 'unknown_parameter' }],
    [{ input: 7 }, { code: 'missing_required_parameter', param: 'messages' }],
    [{ input: Array.from({ length: 10_001 }, () => ({ role: 'user', content: 'x' })) }, { param: 'input' }],
    [{ input: 'x'.repeat(4 * 1024 * 1024) }, { param: 'input' }],
  ])('is refused where chat has no form for it', (fields, error) => {
    expect(() => read({ model: 'm', ...fields })).toThrow(expect.objectContaining(error));
  });
});

describe('tools of other APIs beside messages', () => {
  const flat = [{ name: 'ls', input_schema: parameters }];
  const hint = { cache_control: { type: 'ephemeral' } };
  const sentMessages = (...messages: object[]) => sent({ tools: flat, messages }).body['messages'];
  const used = (id: string) => ({ type: 'tool_use', id, name: 'ls', input: {} });
  const called = (id: string) => ({ id, type: 'function', function: { name: 'ls', arguments: '{}' } });

  it('join their calls to those of chat in the same message, each once', () => {
    const calls = [called('a'), called('b')];
    const role = 'assistant';
    const asked = { role: 'user', content: 'x' };
    expect(sentMessages(asked, { role, tool_calls: [called('a')], content: [used('b'), used('a')] })).toEqual(
      [asked, { role, content: null, tool_calls: calls }],
    );
    expect(sentMessages(asked, { role, reasoning_content: 'Hm.', content: [used('a'), used('b')] })).toEqual([
      asked,
      { role, reasoning_content: 'Hm.', content: null, tool_calls: calls },
    ]);
    const thought = [{ type: 'thinking', thinking: 'Hm.', signature: 's' }];
    expect(sentMessages(asked, { role, content: thought, tool_calls: calls })).toEqual([
      asked,
      { role, content: null, tool_calls: calls },
    ]);
    const old = { name: 'ls', arguments: '{}' };
    expect(sentMessages(asked, { role, content: thought, function_call: old })).toEqual([
      asked,
      { role, content: null, function_call: old },
    ]);
    const text = [{ type: 'text', text: 'I look.' }];
    expect(sentMessages(asked, { role, content: text }, { role, content: [used('a'), used('b')] })).toEqual([
      asked,
      { role, content: text, tool_calls: calls },
    ]);
  });

  it.each<[object, object[]]>([
    [
      {
        source: { type: 'base64', media_type: 'application/pdf', data: 'AA==' },
        title: 'a.pdf',
        context: 'c',
      },
      [
        { type: 'text', text: 'c' },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } },
      ],
    ],
    [
      { source: { type: 'url', url: 'https://files.example/a.pdf' } },
      [{ type: 'file', file: { file_data: 'https://files.example/a.pdf' } }],
    ],
    [{ source: { type: 'file', file_id: 'file_1' } }, [{ type: 'file', file: { file_id: 'file_1' } }]],
    [
      { source: { type: 'text', media_type: 'text/plain', data: 'words' }, title: 't' },
      [
        { type: 'text', text: 't' },
        { type: 'text', text: 'words' },
      ],
    ],
    [{ source: { type: 'text', media_type: 'text/plain' }, title: 't' }, [{ type: 'text', text: 't' }]],
    [{ source: { type: 'content', content: 'words' } }, [{ type: 'text', text: 'words' }]],
    [
      { source: { type: 'content', content: [{ type: 'text', text: 'a' }] }, title: 't', ...hint },
      [
        { type: 'text', text: 't' },
        { type: 'text', text: 'a', ...hint },
      ],
    ],
    [
      { source: { type: 'text', media_type: 'text/plain', data: 'words' }, ...hint },
      [{ type: 'text', text: 'words', ...hint }],
    ],
    [
      { source: { type: 'file', file_id: 'file_1' }, context: 'c', ...hint },
      [
        { type: 'text', text: 'c' },
        { type: 'file', file: { file_id: 'file_1' }, ...hint },
      ],
    ],
    [
      {
        source: {
          type: 'content',
          content: [
            { type: 'text', text: 'a' },
            { type: 'image', source: { type: 'url', url: 'u' } },
          ],
        },
      },
      [
        { type: 'text', text: 'a' },
        { type: 'image_url', image_url: { url: 'u' } },
      ],
    ],
  ])('may have the document %j', (document, parts) => {
    const block = { type: 'document', ...document };
    expect(sentMessages({ role: 'user', content: [block] })).toEqual([{ role: 'user', content: parts }]);
    const result = { type: 'tool_result', tool_use_id: 'a', content: [block] };
    expect(sentMessages({ role: 'user', content: [result] })).toEqual([
      { role: 'tool', tool_call_id: 'a', content: parts },
    ]);
  });

  it('of Anthropic have its parts in the messages', () => {
    const { body } = sent({
      messages: [
        { role: 'user', content: 'List.' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', signature: 's' },
            { type: 'text', text: 'I look.', cache_control: { type: 'ephemeral' } },
            { type: 'tool_use', id: 'toolu_1', name: 'ls', input: { p: 1 } },
            { type: 'tool_use', id: 'toolu_2', name: 'pwd', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'a.txt' }] },
            { type: 'tool_result', tool_use_id: 'toolu_2', content: '/' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
          ],
        },
      ],
      tools: [{ name: 'ls', description: 'Lists', input_schema: parameters }],
      tool_choice: { type: 'any' },
      store: true,
    });
    expect(body).toEqual({
      ...{ model: 'up', store: true, tool_choice: 'required' },
      tools: [{ type: 'function', function: { name: 'ls', description: 'Lists', parameters } }],
      messages: [
        { role: 'user', content: 'List.' },
        {
          role: 'assistant',
          content: [{ type: 'text', text: 'I look.', cache_control: { type: 'ephemeral' } }],
          tool_calls: [
            { id: 'toolu_1', type: 'function', function: { name: 'ls', arguments: '{"p":1}' } },
            { id: 'toolu_2', type: 'function', function: { name: 'pwd', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'toolu_1', content: [{ type: 'text', text: 'a.txt' }] },
        { role: 'tool', tool_call_id: 'toolu_2', content: '/' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] },
      ],
    });
  });

  it('may be flat ones of responses, some of them', () => {
    const nested = { type: 'function', function: { name: 'a', parameters } };
    const { body } = sent({
      messages: [{ role: 'user', content: 'x' }],
      tools: [nested, { type: 'function', name: 'b' }, { type: 'web_search' }],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'b' }] },
    });
    expect(body['tools']).toEqual([
      nested,
      { type: 'function', function: { name: 'b' } },
      { type: 'web_search' },
    ]);
    expect(body['tool_choice']).toEqual({
      type: 'allowed_tools',
      allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'b' } }] },
    });
  });

  it.each([
    { tools: [{ type: 'function', function: { name: 'a' } }], input: 'x' },
    { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    { tools: [{ type: 'custom', custom: { name: 'a' } }], tool_choice: { type: 'any' } },
    { input: [{ role: 'user', content: 'other' }] },
  ])('are as the client wrote them in the form of chat: %j', (fields) => {
    const body = { model: 'm', messages: [{ role: 'user', content: [{ type: 'tool_use' }] }], ...fields };
    const text = `${JSON.stringify(body, null, 1)} `;
    const source = readRequest('chat', Buffer.from(text), body).source({ release: () => undefined });
    expect(source.rewritten(rewrite).toString()).toBe(text.replace('"m"', '"up"'));
  });
});

it('a body of 4 MiB holds up the event loop for no longer than 50 ms', () => {
  const content = Array.from({ length: 9 }, () => ({ type: 'input_text', text: 'x"\n'.repeat(80) }));
  const input = Array.from({ length: 1_000 }, () => ({ role: 'user', content }));
  const fields = { model: 'm', input };
  const body = Buffer.from(JSON.stringify(fields));
  expect(body.length).toBeGreaterThan(3 * 1024 * 1024);
  const startedAt = performance.now();
  readRequest('chat', body, fields);
  // Ten times as long: machines differ.
  expect(performance.now() - startedAt).toBeLessThan(500);
});

function chatFields(fields: object) {
  const source = new JsonSource(Buffer.from(JSON.stringify(fields)));
  return asChat({ ...fields }, source, new DroppedFields(fieldNames)).fields;
}

it('calls of one turn take as long as calls of many', () => {
  const call = { type: 'function_call', call_id: 'c', name: 'ls', arguments: '{}' };
  const output = { type: 'function_call_output', call_id: 'c', output: 'a.txt' };
  const leastMs = (items: readonly object[]): number => {
    const input = Array.from({ length: 10_000 }, (_, n) => items[n % items.length]);
    const takenMs = Array.from({ length: 5 }, () => {
      const startedAt = performance.now();
      chatFields({ input });
      return performance.now() - startedAt;
    });
    return Math.min(...takenMs);
  };
  const manyMs = leastMs([call, output]);
  // It took a thousand times as long.
  expect(leastMs([call])).toBeLessThan(50 * manyMs);
});

it("calls are put behind the client's own without a change of its list", () => {
  const calls = [{ id: 'a', type: 'function', function: { name: 'ls', arguments: '{}' } }];
  const uses = ['b', 'c'].map((id) => ({ type: 'tool_use', id, name: 'ls', input: {} }));
  const content = [{ type: 'text', text: 'I look.' }, ...uses];
  const { messages } = chatFields({ messages: [{ role: 'assistant', content, tool_calls: calls }] });
  expect(messages).toMatchObject([{ tool_calls: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] }]);
  expect(calls).toHaveLength(1);
});
