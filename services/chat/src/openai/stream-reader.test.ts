import { describe, expect, it } from '@jest/globals';
import { messageText, StreamReader } from './stream-reader.ts';

const head = { id: 'c1', object: 'chat.completion.chunk', created: 7, model: 'm-2026' };
const chunk = (choices: unknown, more: object = {}): string => JSON.stringify({ ...head, choices, ...more });
const delta = (fields: object, finish: string | null = null, index = 0): object => ({
  index,
  delta: fields,
  finish_reason: finish,
});
const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };

describe('a stream that is read along', () => {
  it('is sorted frame by frame', () => {
    const reader = new StreamReader(1);
    const kinds = [
      null,
      '',
      chunk([delta({ role: 'assistant', content: '' })]),
      chunk([delta({ content: 'Hi' })], { usage: null }),
      chunk([delta({}, 'stop')], { usage }),
      chunk([], { prompt_filter_results: [] }),
      chunk([], { usage: null }),
      chunk([], { usage }),
      JSON.stringify({ no: 'choices' }),
      '[DONE]',
    ].map((data) => reader.read(data));
    expect(kinds).toEqual([
      'other',
      'other',
      'chunk',
      'chunk',
      'chunk',
      'chunk',
      'chunk',
      'usage',
      'chunk',
      'done',
    ]);
    expect(reader).toMatchObject({
      answer: { beginning: 'Hi', chars: 2 },
      complete: true,
      begun: true,
      responseModel: 'm-2026',
    });
    expect(reader.usage).toMatchObject({ inputTokens: 5, outputTokens: 3, estimated: false });
  });

  it('keeps what the model says to the user, up to a bound, where that is wanted', () => {
    const said = [
      chunk([delta({ role: 'assistant', content: '' })]),
      chunk([delta({ reasoning_content: 'Hm.' })]),
      chunk([delta({ content: 'It is ' }), delta({ content: 'sunny.' })]),
      chunk([delta({ refusal: 'No.', tool_calls: [{ function: { arguments: '{}' } }] })]),
      chunk([null, delta({ content: 7 })]),
    ];
    const [keeps, keepsNot] = [new StreamReader(1, true), new StreamReader(1)];
    for (const data of said) for (const reader of [keeps, keepsNot]) reader.read(data);
    expect([keeps.keptText, keepsNot.keptText]).toEqual(['It is sunny.', '']);
    for (let n = 0; n < 40; n += 1) keeps.read(chunk([delta({ content: '🐘'.repeat(500) })]));
    expect(keeps.keptText.length).toBe(32_768);
    expect(keeps.keptText.isWellFormed()).toBe(true);
  });

  it.each([
    [{ error: { message: 'overloaded', type: 'x' } }, 'overloaded'],
    [{ error: 'plain text' }, undefined],
    [{ error: { message: 7 } }, undefined],
    [{ ...head, choices: [], error: {} }, undefined],
  ])('that reports an error says so: %j', (data, message) => {
    const reader = new StreamReader(1);
    expect(reader.read(JSON.stringify(data))).toBe('error');
    expect(reader.errorMessage).toBe(message);
  });

  it.each(['{"a":', 'text', '"text"', '7', 'null', '[DONE', 'true'])('that holds %s is broken', (data) => {
    expect(() => new StreamReader(1).read(data)).toThrow();
  });

  it.each([
    [
      'choices that are none',
      [null, 7, 'x', {}, { delta: null }, { delta: 'x' }, { index: 'x', delta: { content: 7 } }],
    ],
    ['choices that are no list', { 0: {} }],
    ['no choices', undefined],
  ])('with %s is taken as it comes', (_name, choices) => {
    const reader = new StreamReader(1);
    expect(reader.read(chunk(choices))).toBe('chunk');
    expect(reader).toMatchObject({ answer: { beginning: '', chars: 0 }, complete: false });
  });

  it('is complete when every answer that was asked for has its reason to finish', () => {
    const reader = new StreamReader(2);
    reader.read(chunk([delta({ content: 'a' }, 'stop', 0)]));
    reader.read(chunk([delta({}, 'stop', 0)]));
    expect(reader.complete).toBe(false);
    reader.read(chunk([delta({ content: 'b' }, null, 1)]));
    expect(reader.complete).toBe(false);
    reader.read(chunk([delta({}, 'length', 1)]));
    expect(reader.complete).toBe(true);
  });

  it('takes the newest of running totals', () => {
    const reader = new StreamReader(1);
    for (const completion_tokens of [1, 2, 3])
      reader.read(chunk([delta({})], { usage: { ...usage, completion_tokens } }));
    reader.read(chunk([delta({}, 'stop')], { usage: null }));
    expect(reader.usage?.outputTokens).toBe(3);
  });

  it('gets a usage chunk in its own name when the provider sent none', () => {
    const reader = new StreamReader(1);
    reader.read(chunk([delta({ content: 'x' })]));
    const made = reader
      .usageChunk({
        inputTokens: 5,
        cacheWriteTokens: 0,
        cachedInputTokens: 1,
        outputTokens: 3,
        reasoningTokens: 2,
        estimated: true,
      })
      .toString();
    expect(made.startsWith('data: ') && made.endsWith('\n\n')).toBe(true);
    expect(JSON.parse(made.slice(6))).toEqual({
      ...head,
      choices: [],
      usage: {
        ...usage,
        prompt_tokens_details: { cached_tokens: 1 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    });
  });

  it('keeps so much text and no more', () => {
    const reader = new StreamReader(1);
    const piece = '\ud800x'.repeat(15_000);
    for (let round = 0; round < 8; round += 1) reader.read(chunk([delta({ content: piece })]));
    expect(reader.answer).toEqual({ beginning: piece.repeat(2).slice(0, 50_000), chars: 240_000 });
  });
});

it('the text of a message is all that costs output tokens', () => {
  expect(messageText({ role: 'assistant', content: 'a', refusal: 'b', reasoning_content: 'r' })).toBe('rab');
  const tool_calls = [
    { function: { name: 'f', arguments: '{"x":1}' } },
    null,
    {},
    { function: null },
    { function: { name: 7 } },
  ];
  expect(messageText({ content: null, tool_calls })).toBe('f{"x":1}');
  for (const odd of [{}, { content: [], tool_calls: 'x' }, { content: { text: 'x' } }])
    expect(messageText(odd)).toBe('');
});
