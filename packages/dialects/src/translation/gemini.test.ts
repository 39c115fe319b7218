import { describe, expect, it } from '@jest/globals';
import type { DialectName } from '@gatehouse/contract/dialects';
import type { Fields } from '@gatehouse/kit/fields';
import { frameOf, ResponseReader } from '../gemini/stream.ts';
import { facts, marked } from '@gatehouse/test/translation-samples';
import { ask, translator, writtenIn } from '../../test/translating.ts';
import { translationBetween } from './translation.ts';
import { Pieces } from '../wire/pieces.ts';

const fromChat = translator('chat', 'gemini');
const third = { name: 'gemini-3.8-flash' };
const call = (id: string, args = '{}'): Fields => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: args },
});

describe('a request for a model of Gemini', () => {
  it('has its texts, tools, images and configuration where Google has them', async () => {
    const { body, text, ignored } = await fromChat({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
        { role: 'system', content: 'In the middle.' },
        { role: 'assistant', tool_calls: [call('a', '{"n":12345678901234567890}'), call('b')] },
        { role: 'tool', tool_call_id: 'b', content: 'second' },
        { role: 'tool', tool_call_id: 'a', content: 'first' },
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', '2': 1, '1': 2 } } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      parallel_tool_calls: false,
      max_completion_tokens: 9,
      temperature: 0.5,
      stop: ['END'],
      seed: 7,
      reasoning_effort: 'low',
      response_format: { type: 'json_object' },
      stream: true,
    });
    expect(body).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        {
          role: 'user',
          parts: [
            { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
            { text: '<system-reminder>\nIn the middle.\n</system-reminder>' },
          ],
        },
        {
          role: 'model',
          parts: [
            { functionCall: { name: 'f', args: { n: expect.anything() as unknown } } },
            { functionCall: { name: 'f', args: {} } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'f', response: { output: 'first' } } },
            { functionResponse: { name: 'f', response: { output: 'second' } } },
          ],
        },
      ],
      tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: expect.anything() as unknown }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
      generationConfig: {
        ...{ temperature: 0.5, seed: 7, maxOutputTokens: 9, stopSequences: ['END'] },
        ...{
          responseMimeType: 'application/json',
          thinkingConfig: { includeThoughts: true, thinkingBudget: 4_096 },
        },
      },
    });
    expect(text).toContain('"args":{"n":12345678901234567890}');
    expect(ignored).toEqual(['tools.parameters', 'parallel_tool_calls']);
  });

  it('has the stand-in of Gemini 3 where a signature is missing, and the signature where it is there', async () => {
    const signed = { type: 'thinking', thinking: 'hm', signature: marked('google', 'c2ln') };
    const foreign = { type: 'thinking', thinking: 'hm', signature: 'c2ln' };
    const partsFor = async (block: Fields, model: object): Promise<unknown> => {
      const content = [
        block,
        { type: 'tool_use', id: 'a', name: 'f', input: {} },
        { type: 'tool_use', id: 'b', name: 'f', input: {} },
      ];
      const fields = { max_tokens: 1, messages: [...ask, { role: 'assistant', content }] };
      const { body } = await translator('messages', 'gemini')(fields, model);
      return (body['contents'] as Fields[])[1]?.['parts'];
    };
    const functionCall = { name: 'f', args: {} };
    expect(await partsFor(signed, third)).toEqual([
      { functionCall, thoughtSignature: 'c2ln' },
      { functionCall },
    ]);
    expect(await partsFor(foreign, third)).toEqual([
      { functionCall, thoughtSignature: 'skip_thought_signature_validator' },
      { functionCall },
    ]);
    expect(await partsFor(foreign, { name: 'gemini-2.5-flash' })).toEqual([
      { functionCall },
      { functionCall },
    ]);
  });

  it('has the signature of a text at this text', async () => {
    const sign = (text: string) => ({ type: 'thinking', thinking: '', signature: marked('google', text) });
    const text = { type: 'text', text: 'x' };
    const call = { type: 'tool_use', id: 'a', name: 'f', input: {} };
    const partsFor = async (...content: object[]): Promise<unknown> => {
      const fields = { max_tokens: 1, messages: [...ask, { role: 'assistant', content }, ...ask] };
      const { body } = await translator('messages', 'gemini')(fields, third);
      return (body['contents'] as Fields[])[1]?.['parts'];
    };
    const functionCall = { name: 'f', args: {} };
    expect(await partsFor(text, sign('c2ln'))).toEqual([{ text: 'x', thoughtSignature: 'c2ln' }]);
    expect(await partsFor(sign('c2ln'), text)).toEqual([{ text: 'x', thoughtSignature: 'c2ln' }]);
    expect(await partsFor(text, sign('b25l'), sign('dHdv'), call)).toEqual([
      { text: 'x', thoughtSignature: 'b25l' },
      { functionCall, thoughtSignature: 'dHdv' },
    ]);
  });

  it('has names that begin with a letter, and gives them back', async () => {
    const translation = translationBetween('chat', 'gemini', { ...facts, name: 'gemini-3-pro' });
    const named = (name: string) => ({
      type: 'function',
      function: { name, parameters: { type: 'object', properties: {} } },
    });
    const calls = [{ id: 'c1', type: 'function', function: { name: '9_gone', arguments: '{}' } }];
    const fields = {
      ...{ model: 'm', tools: [named('1password_get'), named('-x'), named('ok')] },
      messages: [
        ...ask,
        { role: 'assistant', tool_calls: calls },
        { role: 'tool', tool_call_id: 'c1', content: 'x' },
      ],
      tool_choice: { type: 'function', function: { name: '1password_get' } },
    };
    const request = await translation.request(Pieces.from(Buffer.from(JSON.stringify(fields))), {
      tenantId: null,
    });
    const body = JSON.parse(request.body.toString()) as Fields;
    expect(body).toMatchObject({
      tools: [{ functionDeclarations: [{ name: 't_1password_get' }, { name: 't_-x' }, { name: 'ok' }] }],
      toolConfig: { functionCallingConfig: { allowedFunctionNames: ['t_1password_get'] } },
    });
    expect(JSON.stringify(body['contents'])).toContain('"functionResponse":{"name":"t_9_gone"');
    const parts = [{ functionCall: { name: 't_1password_get', args: {} } }];
    const answer = { candidates: [{ content: { parts }, finishReason: 'STOP' }] };
    const written = writtenIn(await translation.whole(Buffer.from(JSON.stringify(answer)), null));
    expect(written.toString()).toContain('"name":"1password_get"');
    const stream = translation.stream();
    const frames = [...stream.frames(frameOf(answer)), ...stream.end()];
    expect(Buffer.concat(frames).toString()).toContain('"name":"1password_get"');
  });

  it('asks for a format in words where tools stand beside it, before Gemini 3', async () => {
    const format = {
      type: 'json_schema',
      json_schema: { name: 'r', schema: { type: 'object', properties: {} } },
    };
    const tools = [
      { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } },
    ];
    const asked = { messages: ask, tools, response_format: format };
    for (const each of [asked, { ...asked, response_format: { type: 'json_object' } }]) {
      const { body, ignored } = await fromChat(each, { name: 'gemini-2.5-pro' });
      expect([body['generationConfig'], ignored]).toEqual([undefined, ['response_format']]);
      expect(JSON.stringify(body['systemInstruction'])).toMatch(
        /Unless you call a tool, answer with one JSON/,
      );
    }
    for (const [fields, model] of [
      [asked, third],
      [{ ...asked, tools: [] }, { name: 'gemini-2.5-pro' }],
    ] as const) {
      const { body, ignored } = await fromChat(fields, model);
      expect([body['generationConfig'], ignored]).toMatchObject([
        { responseMimeType: 'application/json' },
        [],
      ]);
    }
  });

  it('is asked to think by a level from Gemini 3 on', async () => {
    const { body } = await fromChat({ messages: ask, reasoning_effort: 'high' }, third);
    expect(body['generationConfig']).toEqual({
      thinkingConfig: { includeThoughts: true, thinkingLevel: 'high' },
    });
    const off = await fromChat({ messages: ask, reasoning_effort: 'none' }, { name: 'gemini-2.5-flash' });
    expect(off.body['generationConfig']).toEqual({ thinkingConfig: { thinkingBudget: 0 } });
  });

  it.each([
    ['gemini-2.5-pro', { reasoning_effort: 'none' }, { thinkingBudget: 128 }, true],
    ['models/gemini-2.5-pro-preview-06-05', { reasoning_effort: 'none' }, { thinkingBudget: 128 }, true],
    ['gemini-pro-latest', { reasoning_effort: 'none' }, { thinkingLevel: 'low' }, true],
    ['gemini-2.5-pro', { reasoning_effort: 'max' }, { thinkingBudget: 32_768 }, true],
    ['gemini-2.5-flash', { reasoning_effort: 'xhigh' }, { thinkingBudget: 24_576 }, true],
    ['gemini-2.5-flash-lite', { reasoning_effort: 'none' }, { thinkingBudget: 0 }, false],
    ['gemini-3-pro-preview', { reasoning_effort: 'none' }, { thinkingLevel: 'low' }, true],
    ['gemini-3.1-pro', { reasoning_effort: 'minimal' }, { thinkingLevel: 'low' }, true],
    ['gemini-3.8-flash', { reasoning_effort: 'none' }, { thinkingLevel: 'minimal' }, true],
    ['gemini-4-hydrogen', { reasoning_effort: 'minimal' }, { thinkingLevel: 'low' }, true],
    ['gemini-4-hydrogen', { reasoning_effort: 'xhigh' }, { thinkingLevel: 'xhigh' }, false],
    ['gemini-4-carbon', { reasoning_effort: 'xhigh' }, { thinkingLevel: 'high' }, true],
  ])('of %s with %j has the nearest thinking', async (name, asked, config, isNamed) => {
    const { body, ignored } = await fromChat({ messages: ask, ...asked }, { name });
    expect(body['generationConfig']).toMatchObject({ thinkingConfig: config });
    expect(ignored).toEqual(isNamed ? ['reasoning_effort'] : []);
  });

  it.each([
    ['gemini-3.5-flash', { temperature: 0.5 }, ['presence_penalty']],
    ['gemini-3.5-flash-lite', undefined, ['temperature', 'presence_penalty']],
    ['gemini-3.6-flash', undefined, ['temperature', 'presence_penalty']],
    ['gemini-4-argon', undefined, ['temperature', 'presence_penalty']],
  ])('has the sampling that the model %s takes', async (name, taken, left) => {
    const request = { messages: ask, temperature: 0.5, presence_penalty: 0.5 };
    const { body, ignored } = await fromChat(request, { name });
    expect([body['generationConfig'], ignored]).toEqual([taken, left]);
  });

  it('raises a budget below the least one, and says so', async () => {
    const thinking = { type: 'enabled', budget_tokens: 100 };
    const request = { messages: ask, max_tokens: 9_000, thinking };
    const toGemini = translator('messages', 'gemini');
    expect(await toGemini(request, { name: 'gemini-2.5-flash-lite' })).toMatchObject({
      body: { generationConfig: { thinkingConfig: { thinkingBudget: 512 } } },
      ignored: ['thinking'],
    });
  });
});

describe('a request of Gemini', () => {
  const cli = {
    system_instruction: { parts: [{ text: 'Be brief.' }] },
    contents: [
      { role: 'user', parts: [{ text: 'Go' }] },
      {
        role: 'model',
        parts: [
          { text: 'a thought', thought: true },
          { functionCall: { name: 'ls', args: { dir: '.' } }, thoughtSignature: 'google-only' },
          { function_call: { name: 'ls', args: { dir: '/' } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'ls', response: { output: 'one' } } },
          { functionResponse: { name: 'ls', response: { error: 'two' } } },
          { functionResponse: { name: 'other', response: { rows: 1.0 } } },
        ],
      },
    ],
    tools: [
      {
        functionDeclarations: [
          {
            name: 'ls',
            parameters: { type: 'OBJECT', properties: { dir: { type: 'STRING', nullable: true } } },
          },
        ],
      },
    ],
    generationConfig: {
      temperature: 1,
      top_k: 64,
      topP: 0.95,
      thinkingConfig: { includeThoughts: true, thinkingBudget: 8_192 },
    },
    safetySettings: [],
  };

  it('is read in both spellings, with calls that have no ids', async () => {
    const { body, ignored } = await translator('gemini', 'messages')(cli, { name: 'claude-opus-5' });
    expect(body).toMatchObject({
      system: [{ text: 'Be brief.' }],
      messages: [
        { role: 'user', content: [{ text: 'Go' }] },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'call_1', name: 'ls', input: { dir: '.' } },
            { type: 'tool_use', id: 'call_2', name: 'ls', input: { dir: '/' } },
          ],
        },
        {
          role: 'user',
          content: [
            { tool_use_id: 'call_1', content: [{ text: 'one' }] },
            { tool_use_id: 'call_2', is_error: true, content: [{ text: 'two' }] },
            { text: 'Result of an earlier call:' },
            { text: '{"rows":1}' },
          ],
        },
      ],
      tools: [
        { name: 'ls', input_schema: { type: 'object', properties: { dir: { type: ['string', 'null'] } } } },
      ],
      // The signed thought of another vendor is missing.
      thinking: { type: 'disabled' },
    });
    const config = ['temperature', 'thinkingConfig', 'topK', 'topP'].map(
      (name) => `generationConfig.${name}`,
    );
    expect(ignored.toSorted()).toEqual([...config, 'safetySettings']);
    expect(JSON.stringify(body)).not.toContain('google-only');
  });

  it('is a stream where its path says so', async () => {
    const translation = translationBetween('gemini', 'chat', facts);
    const { body } = await translation.request(
      Pieces.from(Buffer.from(JSON.stringify({ contents: cli.contents }))),
      {
        tenantId: null,
        isStream: true,
      },
    );
    expect(JSON.parse(body.toString())).toMatchObject({ stream: true });
  });

  it.each([
    ['cachedContent', { cachedContent: 'cachedContents/1' }],
    ['tools[0].googleSearch', { tools: [{ googleSearch: {} }] }],
    ['generationConfig.candidateCount', { generationConfig: { candidate_count: 2 } }],
    ['generationConfig.responseModalities', { generationConfig: { responseModalities: ['AUDIO'] } }],
    [
      'contents[0].parts[0]',
      { contents: [{ parts: [{ fileData: { fileUri: 'gs://a/b', mimeType: 'image/png' } }] }] },
    ],
  ])('is refused for %s', async (param, fields) => {
    const asked = { contents: cli.contents, ...fields };
    await expect(translator('gemini', 'chat')(asked)).rejects.toMatchObject({
      code: 'unsupported_parameter',
      param,
    });
  });
});

const frame = (fields: Fields): Buffer => Buffer.from(`data: ${JSON.stringify(fields)}\n\n`);
const parts = (list: Fields[], more: Fields = {}): Buffer =>
  frame({ candidates: [{ content: { role: 'model', parts: list }, index: 0, ...more }] });

function streamed(from: DialectName, to: DialectName, frames: readonly Buffer[]): Buffer[] {
  const stream = translationBetween(from, to, facts).stream();
  return [...frames.flatMap((each) => stream.frames(each)), ...stream.end()];
}

describe('an answer of Gemini', () => {
  it('keeps its signatures for Google, in a stream of messages', () => {
    const written = streamed('messages', 'gemini', [
      parts([{ text: 'hm', thought: true }]),
      parts([{ functionCall: { name: 'f', args: { q: 1 } }, thoughtSignature: 'c2ln' }], {
        finishReason: 'STOP',
      }),
      frame({ usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, thoughtsTokenCount: 3 } }),
    ]);
    const text = Buffer.concat(written).toString();
    expect(text).toContain('{"type":"thinking_delta","thinking":"hm"}');
    expect(text).toContain(`{"type":"signature_delta","signature":"${marked('google', 'c2ln')}"}`);
    expect(text).toContain('"partial_json":"{\\"q\\":1}"');
    expect(text).toContain('"stop_reason":"tool_use"');
    expect(text).toContain('"output_tokens":5,"output_tokens_details":{"thinking_tokens":3}');
  });

  it('that is blocked is a refusal, whole and streamed', async () => {
    const blocked = { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 5 } };
    const whole = await translationBetween('chat', 'gemini', facts).whole(
      Buffer.from(JSON.stringify(blocked)),
      null,
    );
    expect(JSON.parse(writtenIn(whole).toString())).toMatchObject({
      choices: [{ finish_reason: 'content_filter' }],
    });
    const text = Buffer.concat(streamed('messages', 'gemini', [frame(blocked)])).toString();
    expect(text).toContain('"stop_reason":"refusal"');
  });

  it('that was cut has no end', () => {
    const text = Buffer.concat(streamed('chat', 'gemini', [parts([{ text: 'Hi' }])])).toString();
    expect(text).toContain('"content":"Hi"');
    expect(text).not.toContain('DONE');
  });
});

describe('a stream for a client of Gemini', () => {
  it('ends as Google does', () => {
    const chunk = (delta: Fields, reason: string | null = null): Buffer =>
      frame({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] });
    const reader = new ResponseReader();
    const good = [chunk({ content: 'Hi' }), chunk({}, 'length'), Buffer.from('data: [DONE]\n\n')];
    expect(streamed('gemini', 'chat', good).map((each) => reader.read(each))).toEqual(['chunk', 'last']);
    expect(reader.complete).toBe(true);
  });
});
