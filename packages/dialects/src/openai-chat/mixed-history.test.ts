import { describe, expect, it } from '@jest/globals';
import type { Rewrite } from '../dialect.ts';
import { readRequest } from './request.ts';

const rewrite: Rewrite = {
  ...{ model: 'up', includeUsage: false, systemPrompt: null, reference: null },
  ...{ defaults: {}, maxTokens: null, tools: null },
};
const read = (fields: object) => readRequest('chat', Buffer.from(JSON.stringify(fields)), fields);

/** The text for a provider. */
function textSent(text: string): string {
  const body = Buffer.from(text);
  const request = readRequest('chat', body, JSON.parse(text));
  return request
    .source({ release: () => undefined })
    .rewritten(rewrite)
    .toString();
}

/** The body for a provider, and the names left out. */
function sent(fields: object): { body: Record<string, unknown>; dropped: readonly string[] } {
  const source = read({ model: 'm', ...fields }).source({ release: () => undefined });
  const body = JSON.parse(source.rewritten(rewrite).toString()) as Record<string, unknown>;
  return { body, dropped: source.droppedFields?.({ api: 'chat', upstreamModel: 'up' }) ?? [] };
}

const parameters = { type: 'object', properties: {} };

describe('the history of a body of another API', () => {
  it('has items of hosted tools as text, and names them with those left out', () => {
    const { body, dropped } = sent({
      input: [
        { role: 'user', content: 'News?' },
        { type: 'web_search_call', id: 'ws_1', action: { type: 'search', query: 'news' } },
        { type: 'function_call', call_id: 'a', name: 'ls', arguments: '{}' },
        { type: 'shell_call_output', call_id: 'b', output: [{ stdout: 'done' }] },
        { type: 'function_call_output', call_id: 'a', output: 'a.txt' },
        { type: 'item_reference', id: 'msg_1' },
        { role: 'assistant', content: 'One file.' },
        { type: 'file_search_call', queries: ['one'] },
        { type: 'reasoning', summary: [], encrypted_content: 'x' },
        { role: 'user', content: 'And?' },
        { type: 'computer_call_output', output: { text: 'a page' } },
      ],
    });
    const text = (text: string) => ({ type: 'text', text });
    expect(body['messages']).toEqual([
      { role: 'user', content: 'News?' },
      {
        role: 'assistant',
        content: [
          text('[web_search_call] type: search\nquery: news'),
          text('[shell_call_output] stdout: done'),
        ],
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'ls', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'a.txt' },
      { role: 'assistant', content: [text('One file.'), text('[file_search_call] queries: one')] },
      { role: 'user', content: 'And?' },
      { role: 'user', content: [text('[computer_call_output] a page')] },
    ]);
    expect(dropped).toEqual([
      ...['input.web_search_call', 'input.shell_call_output', 'input.item_reference'],
      ...['input.file_search_call', 'input.reasoning', 'input.computer_call_output'],
    ]);
  });

  it("has blocks of Anthropic's tools as text, errors in their words, and names thoughts", () => {
    const failed = { type: 'tool_result', is_error: true };
    const { body, dropped } = sent({
      tools: [{ name: 'ls', input_schema: parameters, defer_loading: true }],
      messages: [
        {
          role: 'assistant',
          content: [
            { type: 'redacted_thinking', data: 'x' },
            { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'news' } },
            {
              type: 'web_search_tool_result',
              tool_use_id: 's',
              content: [{ title: 'N', encrypted_content: 'x' }],
            },
            { type: 'tool_use', id: 'a', name: 'ls', input: {} },
            { type: 'tool_use', id: 'b', name: 'ls', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { ...failed, tool_use_id: 'a', content: 'No.' },
            { ...failed, tool_use_id: 'b', content: [{ type: 'text', text: 'No.' }] },
          ],
        },
      ],
    });
    expect(body['messages']).toMatchObject([
      {
        content: [
          { text: '[server_tool_use] name: web_search\nquery: news' },
          { text: '[web_search_tool_result] title: N' },
        ],
        tool_calls: [{ id: 'a' }, { id: 'b' }],
      },
      { tool_call_id: 'a', content: 'Error: No.' },
      { tool_call_id: 'b', content: [{ text: 'Error: ' }, { text: 'No.' }] },
    ]);
    expect(dropped).toEqual([
      ...['messages.content.thinking', 'messages.content.server_tool_use'],
      ...['messages.content.web_search_tool_result', 'tools.defer_loading'],
    ]);
  });

  it('becomes text up to a number of values', () => {
    const call = { type: 'web_search_call', results: Array.from({ length: 500 }, () => ({ title: 'x' })) };
    const input = [{ role: 'user', content: 'x' }, ...Array.from({ length: 100 }, () => call)];
    const { body } = sent({ input });
    const titles = JSON.stringify(body['messages']).match(/title: x/g) ?? [];
    expect(titles.length).toBeGreaterThan(5_000);
    expect(titles.length).toBeLessThan(20_000);
  });
});

it("custom tools of Anthropic's API with a schema are functions", () => {
  const choice = { type: 'custom', name: 'f' };
  const { body } = sent({
    messages: [{ role: 'user', content: 'x' }],
    tools: [
      { type: 'custom', name: 'f', description: 'd', input_schema: parameters },
      { type: 'custom', name: 'g' },
    ],
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [choice, { type: 'custom', name: 'g' }] },
  });
  expect(body['tools']).toEqual([
    { type: 'function', function: { name: 'f', description: 'd', parameters } },
    { type: 'custom', custom: { name: 'g' } },
  ]);
  expect(body['tool_choice']).toMatchObject({
    allowed_tools: {
      tools: [
        { type: 'function', function: { name: 'f' } },
        { type: 'custom', custom: { name: 'g' } },
      ],
    },
  });
});

it("choices of Anthropic's API may allow one call at a time", () => {
  const messages = [{ role: 'user', content: 'x' }];
  const tools = [{ name: 'f', input_schema: parameters }];
  const { body } = sent({ messages, tools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } });
  expect(body).toMatchObject({ tool_choice: 'auto', parallel_tool_calls: false });
});

it('cache hints stand where chat has them', () => {
  const hint = { cache_control: { type: 'ephemeral', ttl: '1h' } };
  const source = { type: 'base64', media_type: 'image/png', data: 'AA==' };
  const { body } = sent({
    tools: [
      { name: 'f', input_schema: parameters, ...hint },
      { type: 'custom', name: 'g', ...hint },
    ],
    messages: [
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'f', input: {} },
          { type: 'tool_use', id: 'b', name: 'f', input: {}, ...hint },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'x' },
          { type: 'tool_result', tool_use_id: 'b', content: 'x', ...hint },
          { type: 'image', source, ...hint },
          { type: 'input_image', image_url: 'https://example.com/a.png', ...hint },
          { type: 'input_file', filename: 'a.pdf', file_data: 'x', ...hint },
        ],
      },
    ],
  });
  expect(body['tools']).toMatchObject([
    { type: 'function', ...hint },
    { type: 'custom', ...hint },
  ]);
  const [called, first, second, content] = body['messages'] as Record<string, unknown>[];
  expect([called, second]).toMatchObject([hint, hint]);
  expect(first).not.toMatchObject(hint);
  expect(content?.['content']).toMatchObject([
    { type: 'image_url', ...hint },
    { type: 'image_url', ...hint },
    { type: 'file', file: { filename: 'a.pdf' }, ...hint },
  ]);
  const { body: ofItems } = sent({
    input: [
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}', ...hint },
      { type: 'function_call_output', call_id: 'a', output: 'x', ...hint },
    ],
  });
  expect(ofItems['messages']).toMatchObject([
    { role: 'assistant', ...hint },
    { role: 'tool', ...hint },
  ]);
});

it('numbers and schemas are as the client wrote them', () => {
  const big = '{"2":9007199254740993,"1":[1.0,-0]}';
  const schema = `{"type":"object","properties":${big}}`;
  const [tools, format] = [
    `{"type":"function","function":{"name":"h","parameters":${schema}}}`,
    `"schema":${schema}`,
  ];
  const ofMessages = textSent(
    `{"model":"m","seed":9007199254740993,"tools":[{"name":"f","input_schema":${schema}},${tools}],"messages":[` +
      `{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"a","name":"f","input":${big}}]}]}`,
  );
  expect(ofMessages).toContain('"seed":9007199254740993');
  expect(ofMessages).toContain(`{"name":"f","parameters":${schema}}`);
  expect(ofMessages).toContain(tools);
  expect(ofMessages).toContain(`"arguments":${JSON.stringify(big)}`);
  const ofInput = textSent(
    `{"model":"m","metadata":${big},"text":{"format":{"type":"json_schema","name":"n",${format}}},` +
      `"input":[{"type":"function_call","call_id":"a","name":"f","arguments":${big}}]}`,
  );
  expect(ofInput).toContain(`"metadata":${big}`);
  expect(ofInput).toContain(`"json_schema":{"name":"n",${format}}`);
  expect(ofInput).toContain(`"arguments":${JSON.stringify(big)}`);
});
