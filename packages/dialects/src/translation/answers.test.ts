import fc from 'fast-check';
import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { readUsage } from '../usage/usage-reader.ts';
import { toUsage } from '../usage/usage.ts';
import { anthropicMessagesDialect } from '../anthropic-messages/dialect.ts';
import { openAiChatDialect } from '../openai-chat/dialect.ts';
import { writeUsage as chatUsage } from '../openai-chat/usage.ts';
import { writeUsage as geminiUsage } from '../gemini/response.ts';
import { writeUsage as messagesUsage } from '../anthropic-messages/response.ts';
import { writeUsage as responsesUsage } from '../openai-responses/answer-writer.ts';
import { facts } from '@gatehouse/test/translation-samples';
import { writtenIn } from '../../test/translating.ts';
import { translationBetween, type TranslatedAnswer } from './translation.ts';
import { Pieces } from '../wire/pieces.ts';

async function read(
  from: DialectName,
  to: DialectName,
  answer: Fields | string,
): Promise<TranslatedAnswer | ProviderError> {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  return translationBetween(from, to, facts).whole(Buffer.from(text), null);
}

async function whole(from: DialectName, to: DialectName, answer: Fields | string): Promise<Buffer> {
  return writtenIn(await read(from, to, answer));
}

const parsed = (bytes: Buffer): Fields => JSON.parse(bytes.toString()) as Fields;
const options = { tenantId: null, keepsText: true };

describe('a whole answer', () => {
  const completion = {
    ...{ id: 'chatcmpl-7', object: 'chat.completion', created: 1, model: 'gpt', service_tier: 'default' },
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: {
          ...{ role: 'assistant', content: 'Yes', refusal: null },
          tool_calls: [
            {
              id: 'functions.f:0',
              type: 'function',
              function: { name: 'f', arguments: '{"2":1.0,"1":12345678901234567890}' },
            },
          ],
        },
      },
    ],
    usage: {
      ...{ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      prompt_tokens_details: { cached_tokens: 6 },
      completion_tokens_details: { reasoning_tokens: 2 },
    },
  };

  it('of chat completions is one of messages', async () => {
    const bytes = await whole('messages', 'chat', completion);
    expect(parsed(bytes)).toEqual({
      ...{ id: 'msg_7', type: 'message', role: 'assistant', model: 'gpt' },
      content: [
        { type: 'text', text: 'Yes' },
        {
          type: 'tool_use',
          id: expect.stringMatching(/^toolu_\w{24}$/) as unknown,
          name: 'f',
          input: expect.anything() as unknown,
        },
      ],
      ...{ stop_reason: 'tool_use', stop_sequence: null },
      usage: {
        ...{ input_tokens: 4, cache_creation_input_tokens: 0, cache_read_input_tokens: 6, output_tokens: 5 },
        ...{ output_tokens_details: { thinking_tokens: 2 }, service_tier: 'default' },
      },
    });
    expect(bytes.toString()).toContain('"input":{"2":1.0,"1":12345678901234567890}');
    const read = await anthropicMessagesDialect.readWhole(bytes, options);
    expect(read).toMatchObject({ broken: null, responseModel: 'gpt', serviceTier: 'default' });
    expect(read.usage).toEqual(readUsage(completion.usage));
  });

  it('of messages is one of chat completions', async () => {
    const bytes = await whole(
      'chat',
      'messages',
      `{"id":"msg_7","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":"A"},{"type":"text","text":"B"},{"type":"server_tool_use","id":"s"},{"type":"tool_use","id":"toolu_1","name":"f","input":{"2": 1.0,"1":12345678901234567890}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":4}}`,
    );
    const { created, ...answer } = parsed(bytes);
    expect(Math.abs(Number(created) - Date.now() / 1000)).toBeLessThan(60);
    expect(answer).toMatchObject({
      ...{ id: 'chatcmpl-7', object: 'chat.completion', model: 'claude' },
      choices: [
        {
          ...{ index: 0, finish_reason: 'tool_calls' },
          message: {
            ...{ role: 'assistant', content: 'AB', refusal: null },
            tool_calls: [
              {
                id: 'toolu_1',
                type: 'function',
                function: { name: 'f', arguments: '{"2": 1.0,"1":12345678901234567890}' },
              },
            ],
          },
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
    });
    expect((await openAiChatDialect.readWhole(bytes, options)).text).toBe('AB');
  });

  it('that is a refusal is one in the words of each API', async () => {
    const choice = {
      index: 0,
      finish_reason: 'stop',
      message: { role: 'assistant', content: null, refusal: 'I can not.' },
    };
    expect(parsed(await whole('messages', 'chat', { choices: [choice] }))).toMatchObject({
      content: [{ type: 'text', text: 'I can not.' }],
    });
    const filtered = {
      index: 0,
      finish_reason: 'content_filter',
      message: { role: 'assistant', content: '' },
    };
    expect(parsed(await whole('messages', 'chat', { choices: [filtered] }))).toMatchObject({
      ...{ content: [], stop_reason: 'refusal', stop_details: { type: 'refusal' } },
    });
    const refused = { type: 'message', content: [], stop_reason: 'refusal', usage: {} };
    expect(parsed(await whole('chat', 'messages', refused))).toMatchObject({
      choices: [{ finish_reason: 'content_filter', message: { content: null } }],
    });
  });

  it('without usage has none that counts', async () => {
    const { usage: _usage, ...others } = completion;
    expect(
      (await anthropicMessagesDialect.readWhole(await whole('messages', 'chat', others), options)).usage,
    ).toBeNull();
  });

  it('that is an error, or broke off, is none', async () => {
    const error = { error: { message: 'Too many', type: 'rate_limit_error' } };
    expect(await read('messages', 'chat', error)).toMatchObject({ status: 429 });
    const broken = { index: 0, finish_reason: 'error', message: { role: 'assistant', content: 'Y' } };
    expect(await read('messages', 'chat', { choices: [broken] })).not.toBeInstanceOf(Buffer);
    const ofMessages = {
      type: 'message',
      content: [{ type: 'text', text: 'Y' }],
      error: { message: 'cut' },
      usage: {},
    };
    expect(await read('chat', 'messages', ofMessages)).not.toBeInstanceOf(Buffer);
  });

  it.each(['[]', '{}', '{"choices":[]}', '{"choices":[{"index":0}]}', 'not JSON'])(
    'is none: %s',
    async (text) => {
      await expect(whole('messages', 'chat', text)).rejects.toThrow('answer');
      await expect(whole('chat', 'messages', text)).rejects.toThrow('answer');
    },
  );
});

describe('a freeform tool', () => {
  const request = {
    messages: [
      { role: 'user', content: 'Go' },
      {
        role: 'assistant',
        tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'patch', input: '*** "x"' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'ok' },
    ],
    tools: [
      {
        type: 'custom',
        custom: {
          name: 'patch',
          description: 'Patches',
          format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: X' } },
        },
      },
    ],
  };
  const block = { type: 'tool_use', id: 'toolu_1', name: 'patch', input: { input: 'new\ntext' } };

  it('is a function of one text for models that know functions alone, and back', async () => {
    const translation = translationBetween('chat', 'messages', facts);
    const { body } = await translation.request(Pieces.from(Buffer.from(JSON.stringify(request))), {
      tenantId: null,
    });
    expect(JSON.parse(body.toString())).toMatchObject({
      tools: [
        {
          name: 'patch',
          description: 'Patches\n\nThe input must match this lark grammar:\nstart: X',
          input_schema: { required: ['input'] },
        },
      ],
      messages: [{}, { content: [{ type: 'tool_use', name: 'patch', input: { input: '*** "x"' } }] }, {}],
    });
    const answer = { type: 'message', content: [block], stop_reason: 'tool_use', usage: {} };
    const called = { id: 'toolu_1', type: 'custom', custom: { name: 'patch', input: 'new\ntext' } };
    expect(
      parsed(writtenIn(await translation.whole(Buffer.from(JSON.stringify(answer)), null))),
    ).toMatchObject({
      choices: [{ message: { tool_calls: [called] } }],
    });
    const stream = translation.stream();
    const frames = [
      { type: 'message_start', message: { id: 'm', usage: {} } },
      { type: 'content_block_start', index: 0, content_block: { ...block, input: {} } },
      ...['{"inp', 'ut":"new\\nte', 'xt"}'].map((json) => ({
        ...{ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: json } },
      })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: {} },
      { type: 'message_stop' },
    ].flatMap((event) => stream.frames(Buffer.from(`data: ${JSON.stringify(event)}\n\n`)));
    const text = Buffer.concat(frames).toString();
    expect(text).toContain('"type":"custom","custom":{"name":"patch","input":""}');
    expect(text).toContain('"custom":{"input":"new\\ntext"}');
  });
});

describe('usage', () => {
  const tokens = fc.integer({ min: 0, max: 50 });
  const media = fc.record({ audio: tokens, image: tokens, video: tokens });
  const none = fc.constant({ audio: 0, image: 0, video: 0 });
  const report = fc.record({
    ...{ input: fc.integer({ min: 1, max: 900 }), cached: tokens, cacheWrite: tokens, cacheWrite1h: tokens },
    ...{ inputMedia: fc.oneof(none, media), cachedMedia: fc.oneof(none, media) },
    ...{ output: fc.integer({ min: 1, max: 900 }), reasoning: tokens, outputMedia: fc.oneof(none, media) },
  });

  it.each([
    ['chat completions', chatUsage],
    ['messages', messagesUsage],
    ['responses', responsesUsage],
    ['Gemini', geminiUsage],
  ] as const)('keeps all its classes in %s', (_name, write) => {
    fc.assert(
      fc.property(report, (reported) => {
        const usage = toUsage(reported);
        expect(readUsage(write(usage))).toEqual(usage);
      }),
    );
  });
});

describe('a conversation that is too long', () => {
  const said: readonly ProviderError[] = [
    { message: 'prompt is too long: 9 tokens > 8 maximum' },
    { message: "This model's maximum context length is 8 tokens." },
    { message: 'Your input exceeds the context window of this model.', code: 'context_length_exceeded' },
    { message: 'Too big', code: 'context_length_exceeded' },
    { message: 'The input token count (9) exceeds the maximum number of tokens allowed (8).' },
    { message: 'Input is too long for requested model.' },
    { message: 'input length and `max_tokens` exceed context limit: 9 + 1 > 8' },
    { message: 'the request exceeds the available context size, try increasing it' },
  ];
  const names: readonly DialectName[] = ['chat', 'responses', 'messages', 'gemini'];

  it.each(names)('is said as clients of %s read it, once', (client) => {
    const translation = translationBetween(client, client === 'chat' ? 'messages' : 'chat', facts);
    for (const error of said) {
      const { message = '', code } = translation.error(error);
      if (client === 'messages') expect(message).toMatch(/^prompt is too long/);
      else if (client === 'gemini') expect(message).toMatch(/^The input token count.* exceeds the maximum/);
      else expect(code).toBe('context_length_exceeded');
      expect(message).toContain(error.message);
      expect(translation.error({ message, code })).toEqual({ message, code });
    }
    const other = { message: 'max_tokens: 9 > 8, which is the maximum', code: 'invalid_value' };
    expect(translation.error(other)).toEqual(other);
  });
});
