import { describe, expect, it } from '@jest/globals';
import { ask, translator } from '../../test/translating.ts';

/** Marks of clients up to which a prompt is cached. */

const toConverse = translator('messages', 'converse');
const cached = { cache_control: { type: 'ephemeral' } };
const point = { cachePoint: { type: 'default' } };
const claude = { name: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0' };
const tool = { name: 'weather', input_schema: { type: 'object', properties: {} } };
const text = (words: string, fields: object = {}) => ({ type: 'text', text: words, ...fields });

describe('cache_control of messages', () => {
  it('is a cache point behind its block, in tools, system text and messages', async () => {
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'Sunny.', ...cached };
    const { body, ignored } = await toConverse(
      {
        tools: [{ ...tool, ...cached }],
        system: [text('Be kind.', cached), text('Be brief.')],
        messages: [
          { role: 'user', content: [text('Weather?', cached), text('Now.')] },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} }] },
          { role: 'user', content: [result] },
        ],
      },
      claude,
    );
    expect(ignored).toEqual([]);
    expect(body).toMatchObject({
      toolConfig: { tools: [{ toolSpec: { name: 'weather' } }, point] },
      system: [{ text: 'Be kind.' }, point, { text: 'Be brief.' }],
      messages: [
        { role: 'user', content: [{ text: 'Weather?' }, point, { text: 'Now.' }] },
        { role: 'assistant', content: [{ toolUse: { name: 'weather' } }] },
        { role: 'user', content: [{ toolResult: { toolUseId: 'toolu_1' } }, point] },
      ],
    });
  });

  it('of the request is a cache point at its end', async () => {
    const { body, ignored } = await toConverse({ ...cached, messages: ask }, claude);
    expect([body['messages'], ignored]).toEqual([[{ role: 'user', content: [{ text: 'Go' }, point] }], []]);
  });

  it('lasts an hour where the model keeps a cache so long', async () => {
    const content = [text('Go', { cache_control: { type: 'ephemeral', ttl: '1h' } })];
    const messages = [{ role: 'user', content }];
    const hourly = await toConverse({ messages }, claude);
    expect(hourly.body['messages']).toEqual([
      { role: 'user', content: [{ text: 'Go' }, { cachePoint: { type: 'default', ttl: '1h' } }] },
    ]);
    expect(hourly.ignored).toEqual([]);
    const short = await toConverse({ messages }, { name: 'anthropic.claude-3-7-sonnet-20250219-v1:0' });
    expect(short.body['messages']).toEqual([{ role: 'user', content: [{ text: 'Go' }, point] }]);
    expect(short.ignored).toEqual(['cache_control.ttl']);
  });

  it('keeps the four that reach farthest', async () => {
    const content = ['1', '2', '3', '4', '5'].map((words) => text(words, cached));
    const { body, ignored } = await toConverse({ messages: [{ role: 'user', content }] }, claude);
    expect(body['messages']).toEqual([
      {
        role: 'user',
        content: [{ text: '1' }, ...['2', '3', '4', '5'].flatMap((words) => [{ text: words }, point])],
      },
    ]);
    expect(ignored).toEqual(['cache_control']);
  });

  it('has no place in the tools of Nova', async () => {
    const request = { tools: [{ ...tool, ...cached }], system: [text('Be kind.', cached)], messages: ask };
    const { body, ignored } = await toConverse(request, { name: 'us.amazon.nova-pro-v1:0' });
    expect(body['system']).toEqual([{ text: 'Be kind.' }, point]);
    expect((body['toolConfig'] as { tools: unknown[] }).tools).toHaveLength(1);
    expect(ignored).toEqual(['cache_control']);
  });

  it.each([
    ['converse', { name: 'meta.llama4-maverick-17b-instruct-v1:0' }],
    ['converse', { name: 'anthropic.claude-3-haiku-20240307-v1:0' }],
    ['gemini', {}],
    ['responses', {}],
    ['chat', {}],
  ] as const)('is left out of %s for %j, and named', async (api, model) => {
    const request = {
      tools: [{ ...tool, ...cached }],
      messages: [{ role: 'user', content: [text('Go', cached)] }],
    };
    const { text: written, ignored } = await translator('messages', api)(request, model);
    expect(written).not.toContain('cache');
    expect(ignored).toEqual(['cache_control']);
  });
});

const fromClients = [
  [
    'chat',
    {
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Be kind.', ...cached }] },
        { role: 'user', content: 'Go', ...cached },
      ],
    },
  ],
  [
    'responses',
    {
      input: [
        { role: 'developer', content: [{ type: 'input_text', text: 'Be kind.', ...cached }] },
        { type: 'message', role: 'user', content: 'Go', ...cached },
      ],
    },
  ],
] as const;

describe('cache_control of chat completions and responses', () => {
  it.each(fromClients)('reaches Claude from %s', async (client, request) => {
    const messages = await translator(client, 'messages')(request, { name: 'claude-sonnet-4-5' });
    expect(messages.body).toMatchObject({
      system: [text('Be kind.', cached)],
      messages: [{ role: 'user', content: [text('Go', cached)] }],
    });
    const converse = await translator(client, 'converse')(request, claude);
    expect(converse.body).toMatchObject({
      system: [{ text: 'Be kind.' }, point],
      messages: [{ role: 'user', content: [{ text: 'Go' }, point] }],
    });
    expect([messages.ignored, converse.ignored]).toEqual([[], []]);
  });

  it('is taken of tools, calls, results and the whole request', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
    const f = { name: 'f', parameters: tool.input_schema };
    const request = {
      tools: [{ type: 'function', function: { ...f, ...cached } }],
      messages: [
        { role: 'user', content: 'Go' },
        { role: 'assistant', content: null, reasoning_content: 'hm', tool_calls: [call], ...cached },
        { role: 'tool', tool_call_id: 'call_1', content: [text('a', cached), text('b')] },
        {
          role: 'user',
          content: [text('On'), { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
        },
      ],
      ...cached,
    };
    const { body, ignored } = await translator('chat', 'messages')(request, { name: 'claude-opus-5' });
    expect(body).toMatchObject({
      tools: [{ name: 'f', ...cached }],
      messages: [
        { content: [text('Go')] },
        { content: [{ type: 'tool_use', ...cached }] },
        {
          content: [
            { type: 'tool_result', content: [text('a'), text('b')], ...cached },
            text('On'),
            { type: 'image', ...cached },
          ],
        },
      ],
    });
    expect(ignored).toEqual([]);
  });

  it('is at most four, and an hour never behind five minutes', async () => {
    const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } };
    const content = [text('1', hour), text('2', hour), text('3', cached), text('4', hour), text('5', cached)];
    const { body, ignored } = await translator('chat', 'messages')(
      { messages: [{ role: 'user', content }] },
      { name: 'claude-opus-5' },
    );
    expect(body['messages']).toEqual([
      {
        role: 'user',
        content: [text('1'), text('2', hour), ...['3', '4', '5'].map((words) => text(words, cached))],
      },
    ]);
    expect(ignored).toEqual(['cache_control', 'cache_control.ttl']);
  });

  it.each([
    ['messages', { name: 'claude-3-haiku-20240307' }],
    ['gemini', {}],
    ['responses', {}],
  ] as const)('is left out of %s for %j, and named', async (api, model) => {
    const request = { messages: [{ role: 'user', content: [text('Go', cached)] }] };
    const { text: written, ignored } = await translator('chat', api)(request, model);
    expect(written).not.toContain('cache');
    expect(ignored).toEqual(['cache_control']);
  });
});
