import { describe, expect, it } from '@jest/globals';
import { chatCompletionRequest, embeddingsRequest } from '@gatehouse/contract/openai';
import { AppError } from '@gatehouse/kit/errors';
import fc from 'fast-check';
import { estimateTokens } from '../usage/token-estimate.ts';
import type { CompletionRequest } from '../dialect.ts';
import { readRequest } from './request.ts';

const least = { model: 'small', messages: [{ role: 'user', content: 'hi' }] };
const chat = (value: unknown): CompletionRequest => readRequest('chat', Buffer.from(''), value);
const embed = (value: unknown): CompletionRequest => readRequest('embeddings', Buffer.from(''), value);

/** Code and field of the 400, or what was read. */
function outcomeOf(read: (value: unknown) => CompletionRequest, value: unknown): string {
  try {
    read(value);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.status).toBe(400);
    if (error.param !== null) expect(error.message).toContain(error.param);
    return `${error.code} ${error.param ?? '-'}`;
  }
}

describe('a chat request', () => {
  it.each<[unknown, string]>([
    [null, 'invalid_type -'],
    [[], 'invalid_type -'],
    ['text', 'invalid_type -'],
    [7, 'invalid_type -'],
    [{}, 'missing_required_parameter model'],
    [{ model: 'm' }, 'missing_required_parameter messages'],
    [{ ...least, model: null }, 'invalid_type model'],
    [{ ...least, model: 7 }, 'invalid_type model'],
    [{ ...least, model: '' }, 'invalid_value model'],
    [{ ...least, messages: null }, 'invalid_type messages'],
    [{ ...least, messages: {} }, 'invalid_type messages'],
    [{ ...least, messages: 'hi' }, 'invalid_type messages'],
    [{ ...least, messages: [] }, 'invalid_value messages'],
    [{ ...least, messages: [null] }, 'invalid_type messages[0]'],
    [{ ...least, messages: [...least.messages, 'hi'] }, 'invalid_type messages[1]'],
    [{ ...least, messages: [[]] }, 'invalid_type messages[0]'],
    [{ ...least, messages: [{}] }, 'missing_required_parameter messages[0].role'],
    [{ ...least, messages: [{ role: null }] }, 'invalid_type messages[0].role'],
    [{ ...least, messages: [{ role: 7 }] }, 'invalid_type messages[0].role'],
    [{ ...least, messages: [{ role: 'user', content: 7 }] }, 'invalid_type messages[0].content'],
    [{ ...least, messages: [{ role: 'user', content: {} }] }, 'invalid_type messages[0].content'],
    [{ ...least, messages: [{ role: 'user', content: false }] }, 'invalid_type messages[0].content'],
  ])('%j is refused: %s', (value, expected) => {
    expect(outcomeOf(chat, value)).toBe(expected);
    if (expected !== 'accepted') expect(chatCompletionRequest.safeParse(value).success).toBe(false);
  });

  it.each<[string, unknown[]]>([
    [
      'number',
      [
        'frequency_penalty',
        'max_completion_tokens',
        'max_tokens',
        'n',
        'presence_penalty',
        'seed',
        'temperature',
        'top_logprobs',
        'top_p',
      ],
    ],
    ['boolean', ['logprobs', 'parallel_tool_calls', 'store', 'stream']],
    ['string', ['reasoning_effort', 'service_tier', 'user']],
    ['array', ['functions', 'modalities', 'tools']],
    ['object', ['audio', 'logit_bias', 'metadata', 'prediction', 'response_format', 'stream_options']],
    ['string object', ['function_call', 'tool_choice']],
    ['string array', ['stop']],
  ])('takes a %s, and nothing else but null, for %j', (kinds, fields) => {
    const samples: Record<string, unknown> = { number: 1, boolean: true, string: 'x', array: [], object: {} };
    for (const field of fields.map(String)) {
      for (const [kind, sample] of Object.entries(samples)) {
        const expected = kinds.split(' ').includes(kind) ? 'accepted' : `invalid_type ${field}`;
        expect(outcomeOf(chat, { ...least, [field]: sample })).toBe(expected);
        if (expected !== 'accepted')
          expect(chatCompletionRequest.safeParse({ ...least, [field]: sample }).success).toBe(false);
      }
      expect(outcomeOf(chat, { ...least, [field]: null })).toBe('accepted');
    }
  });

  it.each<[string, Record<string, unknown>]>([
    ['max_tokens 0', { max_tokens: 0 }],
    ['a huge negative seed', { seed: -9_223_372_036_854_775_808 }],
    ['stream_options without a stream', { stream: false, stream_options: { include_usage: true } }],
    ['old functions', { functions: [{ name: 'f' }], function_call: 'auto' }],
    ['a lone developer message', { messages: [{ role: 'developer', content: 'be brief' }] }],
    ['an unknown role', { messages: [{ role: 'critic', content: [] }] }],
    ['a tool’s answer', { messages: [{ role: 'tool', tool_call_id: 'x', content: 'y' }] }],
    [
      'an assistant without content',
      {
        messages: [
          { role: 'assistant', tool_calls: [] },
          { role: 'assistant', content: null },
        ],
      },
    ],
    [
      'content parts that are odd',
      { messages: [{ role: 'user', content: [null, 7, { type: 'image_url' }] }] },
    ],
    ['fields newer than us', { verbosity: 7, toString: 1, constructor: null, x_vendor: { a: 1 } }],
    ['a field called __proto__', JSON.parse('{"__proto__":{"model":7}}') as Record<string, unknown>],
    ['n of nought', { n: 0 }],
  ])('with %s is legal', (_name, fields) => {
    expect(outcomeOf(chat, { ...least, ...fields })).toBe('accepted');
  });

  it('is read for what the gateway must know', () => {
    const plain = { operation: 'chat', model: 'small', stream: false, wantsUsage: false, choices: 1 };
    expect(chat(least)).toMatchObject(plain);
    expect(chat({ ...least, stream: null, stream_options: null, n: null })).toMatchObject(plain);
    expect(chat({ ...least, stream: true, stream_options: {}, n: 3 })).toMatchObject({
      ...plain,
      stream: true,
      choices: 3,
    });
    expect(chat({ ...least, stream_options: { include_usage: true } }).wantsUsage).toBe(true);
    expect(chat({ ...least, stream_options: { include_usage: 1 } }).wantsUsage).toBe(false);
    // A stream is never complete before it has begun.
    for (const n of [0, -1]) expect(chat({ ...least, n }).choices).toBe(1);
  });

  it('of any JSON is read or rejected with a 400, and if read gives its texts', () => {
    const odd = fc.record({ role: fc.jsonValue(), content: fc.jsonValue() }, { requiredKeys: [] });
    const requests = fc.record({
      model: fc.constant('m'),
      messages: fc.oneof(fc.array(fc.oneof(odd, fc.jsonValue())), fc.jsonValue()),
    });
    fc.assert(
      fc.property(fc.oneof(requests, fc.jsonValue()), (value) => {
        if (outcomeOf(chat, value) !== 'accepted') return;
        expect(chat(value).promptSample().chars).toBeGreaterThanOrEqual(0);
        expect(chat(value).inputPreview(10).length).toBeLessThanOrEqual(10);
      }),
      { numRuns: 1_000 },
    );
  });
});

it.each(['Model', 'MAX_TOKENS', 'N', 'meſſages', 'strEam', 'max_toKens'])(
  'a chat request with %s, which some servers take for another field, is refused',
  (name) => {
    expect(outcomeOf(chat, { ...least, [name]: 1 })).toMatch(/^unknown_parameter /);
  },
);

it('fields with capitals that resemble none of OpenAI’s pass', () => {
  expect(outcomeOf(chat, { ...least, enableThinking: true, X: 1 })).toBe('accepted');
});

it('a number of answers beyond what a number can be is a number', () => {
  expect(chat({ ...least, n: JSON.parse('1e999') as number }).choices).toBe(1e9);
});

describe('an embeddings request', () => {
  it.each<[unknown, string]>([
    [null, 'invalid_type -'],
    [{ input: 'x' }, 'missing_required_parameter model'],
    [{ model: 'm' }, 'missing_required_parameter input'],
    [{ model: 'm', input: null }, 'invalid_type input'],
    [{ model: 'm', input: 7 }, 'invalid_type input'],
    [{ model: 'm', input: {} }, 'invalid_type input'],
    [{ model: 'm', input: '' }, 'invalid_value input'],
    [{ model: 'm', input: [] }, 'invalid_value input'],
    [{ model: 'm', input: 'x', dimensions: '8' }, 'invalid_type dimensions'],
    [{ model: 'm', input: 'x', encoding_format: 1 }, 'invalid_type encoding_format'],
    [{ model: 'm', input: 'x', user: {} }, 'invalid_type user'],
    [{ model: 'm', input: 'x' }, 'accepted'],
    [{ model: 'm', input: ['x', 'y'], dimensions: null, x: 1 }, 'accepted'],
    [{ model: 'm', input: [[1, 2], [3]] }, 'accepted'],
  ])('%j: %s', (value, expected) => {
    expect(outcomeOf(embed, value)).toBe(expected);
    if (expected !== 'accepted') expect(embeddingsRequest.safeParse(value).success).toBe(false);
  });

  it.each<[unknown]>([
    [null],
    [7],
    [[]],
    [[null]],
    [[7, 'x', [[]]]],
    [[{ role: 'user', content: [null, 'y'], tool_calls: [null] }]],
  ])('has the text of its input alone, whatever messages and tools stand beside it: %j', (odd) => {
    const request = embed({ model: 'm', input: 'x', messages: odd, tools: odd, functions: odd });
    expect(request.promptSample()).toEqual({ beginning: 'x', chars: 1 });
    expect(request.requestedAmounts({}).attachments).toEqual({ count: 0, bytes: 0 });
    expect([request.callIds, request.firstTexts, request.lastUserText()]).toEqual([[], [], null]);
  });

  it('never streams', () => {
    expect(embed({ model: 'm', input: 'x', stream: true })).toMatchObject({
      operation: 'embeddings',
      stream: false,
      choices: 1,
    });
  });
});

describe('the texts of a request', () => {
  const conversation = {
    model: 'm',
    messages: [
      { role: 'system', content: 'rules' },
      { role: 'user', content: 'first' },
      {
        role: 'user',
        content: [{ type: 'text', text: 'second' }, { type: 'image_url' }, { type: 'text', text: 'part' }],
      },
      { role: 'assistant', content: null },
    ],
  };

  it('are the newest user message for a preview, and everything for an estimate', () => {
    expect(chat(conversation).inputPreview(500)).toBe('second\npart');
    expect(chat(conversation).inputPreview(3)).toBe('sec');
    expect(chat(conversation).promptSample(['system '])).toEqual({
      beginning: 'system rulesfirstsecondpart',
      chars: 27,
    });
    expect(chat({ ...least, messages: [{ role: 'developer', content: 'alone' }] }).inputPreview(500)).toBe(
      'alone',
    );
    expect(chat({ ...least, messages: [{ role: 'user' }] }).inputPreview(500)).toBe('');
  });

  it('of embeddings are their inputs; a token of an array counts as one', async () => {
    expect(embed({ model: 'm', input: ['a', 'b'] }).inputPreview(500)).toBe('a\nb');
    const inputs: [unknown, number][] = [
      [[[1, 2], [3]], 3],
      [Array<number>(700).fill(5), 700],
    ];
    for (const [input, tokens] of inputs)
      expect(await estimateTokens(embed({ model: 'm', input }).promptSample(), 't')).toBe(tokens);
  });

  it('of tools count, those beyond the sample by their average', () => {
    const tool = { type: 'function', function: { name: 'f', description: 'x'.repeat(9_000) } };
    const size = JSON.stringify(tool).length;
    const { chars, beginning } = chat({
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
      tools: Array(100).fill(tool),
    }).promptSample();
    expect([chars, beginning.length]).toEqual([2 + 100 * size, 50_000]);
  });
});
