import { describe, expect, it } from '@jest/globals';
import type { DialectName } from '@gatehouse/contract/dialects';
import type { Fields } from '@gatehouse/kit/fields';
import { readRequest } from '@gatehouse/test/converse-provider';
import { facts } from '@gatehouse/test/translation-samples';
import { ask, translator } from '../../test/translating.ts';
import { translationBetween } from './translation.ts';
import { Pieces } from '../wire/pieces.ts';

const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const nova = 'us.amazon.nova-2-lite-v1:0';

interface Asked {
  body: Fields;
  text: string;
  ignored: string[];
}

/** A client's request as Bedrock accepts it. */
async function asked(from: DialectName, request: Fields | string, name = claude): Promise<Asked> {
  const text = typeof request === 'string' ? request : JSON.stringify(request);
  const translation = translationBetween(from, 'converse', { ...facts, name });
  const { body, ignored } = await translation.request(Pieces.from(Buffer.from(text)), { tenantId: null });
  readRequest(body.whole);
  return { body: JSON.parse(body.toString()) as Fields, text: body.toString(), ignored };
}

const call = (id: string, name = 'f'): Fields => ({
  ...{ id, type: 'function' },
  function: { name, arguments: '{}' },
});
const tool = (name: string, more: Fields = {}): Fields => ({
  type: 'function',
  function: { name, parameters: { type: 'object' }, ...more },
});

describe('a request in Converse', () => {
  it('has the texts, limits and sequences of the client, and the name of the model in its path only', async () => {
    const { body, ignored } = await asked('chat', {
      model: 'x',
      messages: [{ role: 'system', content: 'Be brief.' }, ...ask],
      ...{ max_tokens: 50, stop: ['END'], temperature: 1.5, seed: 1, user: 'u', stream: true },
    });
    expect(body).toEqual({
      messages: [{ role: 'user', content: [{ text: 'Go' }] }],
      system: [{ text: 'Be brief.' }],
      inferenceConfig: { maxTokens: 50, temperature: 1, stopSequences: ['END'] },
      additionalModelResponseFieldPaths: ['/stop_sequence'],
    });
    expect(ignored).toEqual(expect.arrayContaining(['seed', 'user']));
  });

  it('alternates roles, and has neither empty texts nor empty messages', async () => {
    const { body } = await asked('chat', {
      messages: [
        ...ask,
        { role: 'assistant', content: 'A' },
        { role: 'assistant', content: ' ' },
        { role: 'assistant', content: 'B' },
        { role: 'user', content: '' },
        { role: 'user', content: 'C' },
      ],
    });
    expect(body['messages']).toEqual([
      { role: 'user', content: [{ text: 'Go' }] },
      { role: 'assistant', content: [{ text: 'A' }, { text: 'B' }] },
      { role: 'user', content: [{ text: 'C' }] },
    ]);
  });

  it('keeps arguments and schemas to the letter', async () => {
    const odd = '{"2": 1, "1": 12345678901234567890, "q": 1.0, "q": "é\\u0041"}';
    const schema = `{"type":"object","properties":{"2":{ "const":1.0},"1":{"default":${odd}}}}`;
    const { text } = await asked(
      'messages',
      `{"max_tokens":1,"messages":[{"role":"user","content":"Go"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":${odd}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}],"tools":[{"name":"f","input_schema":${schema}}]}`,
    );
    expect(text).toContain(`"input":${odd}`);
    expect(text).toContain(`"inputSchema":{"json":${schema}}`);
  });

  it('has ids that Bedrock takes, and definitions also where the client brings none any more', async () => {
    const messages = [
      ...ask,
      { role: 'assistant', tool_calls: [call('functions.f:0'), call('b')] },
      { role: 'tool', tool_call_id: 'b', content: '2' },
      { role: 'tool', tool_call_id: 'functions.f:0', content: '1' },
    ];
    const { body } = await asked('chat', { messages });
    expect(body).toMatchObject({
      messages: [
        {},
        { content: [{ toolUse: { name: 'f', input: {} } }, { toolUse: { toolUseId: 'b' } }] },
        { content: [{ toolResult: { content: [{ text: '1' }] } }, { toolResult: { toolUseId: 'b' } }] },
      ],
      toolConfig: { tools: [{ toolSpec: { name: 'f' } }] },
      additionalModelRequestFields: { tool_choice: { type: 'none' } },
    });
  });

  it.each([
    ['auto', undefined, undefined, undefined],
    ['required', undefined, { any: {} }, undefined],
    ['auto', false, undefined, { type: 'auto', disable_parallel_tool_use: true }],
    ['required', false, { any: {} }, { disable_parallel_tool_use: true }],
  ])('says the choice %s with parallel calls %s', async (choice, parallel, forced, additional) => {
    const request = { messages: ask, tools: [tool('f')], tool_choice: choice, parallel_tool_calls: parallel };
    const { body } = await asked('chat', request);
    expect((body['toolConfig'] as Fields)['toolChoice']).toEqual(forced);
    expect((Object(body['additionalModelRequestFields']) as Fields)['tool_choice']).toEqual(additional);
  });

  it('leaves no tool to models that can’t be forbidden to call one', async () => {
    const messages = [
      ...ask,
      { role: 'assistant', tool_calls: [call('a')] },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    ];
    const request = { messages, tools: [tool('f')], tool_choice: 'none' };
    const { body } = await asked('chat', request, nova);
    expect(body['toolConfig']).toMatchObject({ tools: [{ toolSpec: { name: 'no_tool' } }] });
    expect(await asked('chat', { ...request, messages: ask })).not.toHaveProperty('body.toolConfig');
  });

  it('says errors of tools by their status, and in words where a model has none', async () => {
    const content = [
      { type: 'tool_result', tool_use_id: 'a', content: 'No', is_error: true },
      { type: 'tool_result', tool_use_id: 'b' },
    ];
    const said = [
      { type: 'tool_use', id: 'a', name: 'f', input: {} },
      { type: 'tool_use', id: 'b', name: 'f', input: {} },
    ];
    const messages = [...ask, { role: 'assistant', content: said }, { role: 'user', content }];
    const results = async (name: string): Promise<unknown> =>
      ((await asked('messages', { max_tokens: 1, messages }, name)).body['messages'] as Fields[])[2]?.[
        'content'
      ];
    expect(await results(claude)).toEqual([
      { toolResult: { toolUseId: 'a', content: [{ text: 'No' }], status: 'error' } },
      { toolResult: { toolUseId: 'b', content: [] } },
    ]);
    expect(await results('meta.llama4-scout-17b-instruct-v1:0')).toMatchObject([
      { toolResult: { content: [{ text: 'Error: No' }] } },
      {},
    ]);
  });
});

describe('media in Converse', () => {
  const image = (type: string): Fields => ({
    ...{ type: 'image', source: { type: 'base64', media_type: type, data: 'AAAA' } },
  });
  const request = (content: unknown[]): Fields => ({ max_tokens: 1, messages: [{ role: 'user', content }] });

  it('are images by their bytes, also in results', async () => {
    const messages = [
      { role: 'user', content: [image('image/jpeg')] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'a', content: [image('image/png')] }],
      },
    ];
    const { body } = await asked('messages', { max_tokens: 1, messages });
    expect(body['messages']).toMatchObject([
      { content: [{ image: { format: 'jpeg', source: { bytes: 'AAAA' } } }] },
      {},
      { content: [{ toolResult: { content: [{ image: { format: 'png' } }] } }] },
    ]);
  });

  it('are files with names that Bedrock takes, each with another one, beside a text', async () => {
    const file = (filename: string, type = 'application/pdf'): Fields => ({
      type: 'file',
      file: { filename, file_data: `data:${type};base64,AAAA` },
    });
    const content = [
      file('año__2.pdf'),
      file('año  2.pdf'),
      file('', 'text/plain'),
      file('a.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'),
    ];
    const { body } = await asked('chat', { messages: [{ role: 'user', content }] });
    const [message] = body['messages'] as { content: { document?: Fields; text?: string }[] }[];
    expect(message?.content.map(({ document, text }) => document?.['name'] ?? text)).toEqual([
      ...['a o 2 pdf', 'a o 2 pdf 2', 'document', 'a docx', 'a o 2 pdf'],
    ]);
    expect(message?.content.slice(2, 4)).toMatchObject([
      { document: { format: 'txt' } },
      { document: { format: 'docx' } },
    ]);
  });

  it.each([
    ['messages[0].content[1]', { type: 'image', source: { type: 'url', url: 'https://a.example/x.png' } }],
    ['messages[0].content[1]', image('image/tiff')],
    ['messages[0].content[1]', { type: 'document', source: { type: 'url', url: 'https://a.example/x.pdf' } }],
  ])('are refused by their place: %s', async (param, block) => {
    await expect(asked('messages', request([{ type: 'text', text: 'See' }, block]))).rejects.toThrow(
      `Unsupported parameter: ${param}`,
    );
  });
});

describe('output and reasoning in Converse', () => {
  const schema =
    '{"type":"object","properties":{"2":{"type":"null"},"1":{"const":12345678901234567890}},"additionalProperties":false}';

  it('are held to a schema', async () => {
    const { body } = await asked(
      'chat',
      `{"messages":[{"role":"user","content":"Go"}],"response_format":{"type":"json_schema","json_schema":{"name":"found","strict":true,"schema":${schema}}}}`,
    );
    expect(body['outputConfig']).toEqual({
      textFormat: { type: 'json_schema', structure: { jsonSchema: { schema, name: 'found' } } },
    });
    const any = { messages: ask, response_format: { type: 'json_object' } };
    for (const name of [claude, nova]) {
      const { body: inWords, ignored } = await asked('chat', any, name);
      expect(inWords).toMatchObject({
        system: [{ text: expect.stringContaining('one JSON object') as unknown }],
      });
      expect([inWords['outputConfig'], ignored]).toEqual([undefined, []]);
    }
  });

  const reasoning = async (name: string, effort: string, more: Fields = {}): Promise<Asked> =>
    asked('chat', { messages: ask, max_tokens: 32_000, reasoning_effort: effort, ...more }, name);

  it('are asked of each family in its own words', async () => {
    expect((await reasoning(claude, 'low', { temperature: 0.5 })).body).toMatchObject({
      inferenceConfig: { maxTokens: 32_000 },
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 4_096 } },
    });
    expect((await reasoning('us.anthropic.claude-opus-4-7-v1', 'xhigh')).body).toMatchObject({
      additionalModelRequestFields: { thinking: { type: 'adaptive' } },
      outputConfig: { effort: 'xhigh' },
    });
    expect((await reasoning(nova, 'high')).body).toMatchObject({
      additionalModelRequestFields: { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'medium' } },
    });
    expect((await reasoning('openai.gpt-oss-120b-1:0', 'max')).body).toMatchObject({
      additionalModelRequestFields: { reasoning_effort: 'high' },
    });
    expect((await reasoning('meta.llama4', 'high')).ignored).toEqual(['reasoning_effort']);
    // The newest models refuse to have it switched off in words.
    expect((await reasoning('us.anthropic.claude-opus-4-7-v1', 'none')).text).not.toContain('thinking');
  });

  it('leave out sampling that the model does not take', async () => {
    const request = { contents: [{ role: 'user', parts: [{ text: 'Go' }] }], generationConfig: { topK: 5 } };
    expect((await asked('gemini', request)).body['additionalModelRequestFields']).toEqual({ top_k: 5 });
    expect((await asked('gemini', request, nova)).body['additionalModelRequestFields']).toEqual({
      inferenceConfig: { topK: 5 },
    });
    const other = await asked('gemini', request, 'meta.llama4');
    expect(other.ignored).toEqual(['generationConfig.topK']);
    expect((await reasoning(claude, 'low', { temperature: 0.5 })).ignored).toEqual(['temperature']);
  });
});

describe('a request for Claude by Converse', () => {
  const toConverse = translator('chat', 'converse');
  const tools = [
    { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } },
  ];

  it.each([
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', undefined, undefined, []],
    ['us.anthropic.claude-opus-4-7', undefined, undefined, []],
    ['anthropic.claude-opus-5', { type: 'disabled' }, undefined, []],
    ['global.anthropic.claude-sonnet-5-5', { type: 'between_tools' }, undefined, []],
    ['us.anthropic.claude-opus-5-5', undefined, 'low', ['reasoning_effort']],
  ])('switches the thinking of %s off', async (name, thinking, effort, named) => {
    const { body, ignored } = await toConverse({ messages: ask, reasoning_effort: 'none' }, { name });
    const additional = body['additionalModelRequestFields'] as Fields | undefined;
    expect(additional?.['thinking']).toEqual(thinking);
    expect([(body['outputConfig'] as Fields | undefined)?.['effort'], ignored]).toEqual([effort, named]);
  });

  it.each([
    ['us.anthropic.claude-opus-4-8', { any: {} }, ['reasoning_effort']],
    ['us.anthropic.claude-opus-5', { any: {} }, []],
    ['us.anthropic.claude-opus-5-5', undefined, ['tool_choice']],
  ])('forces a call of %s as far as it can be forced', async (name, toolChoice, named) => {
    const request = { messages: ask, tools, tool_choice: 'required', reasoning_effort: 'high' };
    const { body, ignored } = await toConverse(request, { name });
    expect([(body['toolConfig'] as Fields)['toolChoice'], ignored]).toEqual([toolChoice, named]);
  });

  it('has no sampling where newer ones refuse it, and its betas in a field', async () => {
    const request = { messages: ask, temperature: 0, max_tokens: 10 };
    const model = { name: 'us.anthropic.claude-opus-4-7', betas: ['context-1m-2025-08-07'] };
    const { body, ignored } = await toConverse(request, model);
    expect(body['inferenceConfig']).toEqual({ maxTokens: 10 });
    expect(body['additionalModelRequestFields']).toEqual({ anthropic_beta: ['context-1m-2025-08-07'] });
    expect(ignored).toEqual(['temperature']);
  });
});
