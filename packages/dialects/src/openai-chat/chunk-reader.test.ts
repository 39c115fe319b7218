import { describe, expect, it } from '@jest/globals';
import { ChunkReader } from './chunk-reader.ts';
import type { FrameKind } from '../dialect.ts';
import { noUsage } from '../usage/usage.ts';

/** `data`: null for a comment. */
function readData(reader: ChunkReader, data: string | null, event?: string): FrameKind {
  const name = event === undefined ? '' : `event: ${event}\n`;
  return reader.read(Buffer.from(data === null ? ': comment\n\n' : `${name}data: ${data}\n\n`));
}

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
    const reader = new ChunkReader(1);
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
    ].map((data) => readData(reader, data));
    expect(kinds).toEqual([
      'other',
      'other',
      'chunk',
      'chunk',
      'chunk',
      'chunk',
      'chunk',
      'usage',
      'foreign',
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
    const [keeps, keepsNot] = [new ChunkReader(1, true), new ChunkReader(1)];
    for (const data of said) for (const reader of [keeps, keepsNot]) readData(reader, data);
    expect([keeps.keptText, keepsNot.keptText]).toEqual(['It is sunny.', '']);
    for (let n = 0; n < 40; n += 1) readData(keeps, chunk([delta({ content: '🐘'.repeat(500) })]));
    expect(keeps.keptText.length).toBe(32_768);
    expect(keeps.keptText.isWellFormed()).toBe(true);
  });

  it.each<[object, string | undefined, number | undefined]>([
    [{ error: { message: 'overloaded', type: 'x' } }, 'overloaded', undefined],
    [{ error: 'plain text' }, 'plain text', undefined],
    [{ error: { message: 7 } }, undefined, undefined],
    [{ ...head, choices: [delta({ content: 'x' })], error: 'died' }, 'died', undefined],
    [{ type: 'error', error: { type: 'rate_limit_error', message: 'slow' } }, 'slow', 429],
    [{ error: { code: 429, message: 'slow' } }, 'slow', 429],
    [{ error: { code: '503', message: 'busy' } }, 'busy', 503],
    [{ object: 'error', message: 'died', code: 500 }, 'died', 500],
    [{ detail: 'Not Found' }, 'Not Found', undefined],
    [{ errors: [{ message: 'no', code: 7 }] }, 'no', undefined],
    [{ code: 1301, msg: 'unsafe' }, 'unsafe', undefined],
    [{ success: false, message: 'no' }, 'no', undefined],
    [{ choices: [{ error: { code: 502, message: 'lost' }, delta: {} }] }, 'lost', 502],
    [{ choices: [delta({ content: 'x' }, 'error')] }, undefined, undefined],
    [{ choices: [delta({}, 'insufficient_system_resource')] }, undefined, undefined],
    [{ choices: [delta({}, 'network_error')] }, undefined, undefined],
  ])('that reports an error says so: %j', (data, message, status) => {
    const reader = new ChunkReader(1);
    expect(readData(reader, JSON.stringify(data))).toBe('error');
    expect([reader.error?.message, reader.error?.status]).toEqual([message, status]);
  });

  it('that names an event an error is one, whatever its data', () => {
    for (const data of ['Internal error', '{"message":"Internal error"}', '"x"']) {
      const reader = new ChunkReader(1);
      expect(readData(reader, data, 'error')).toBe('error');
      expect(typeof reader.error?.message).toBe('string');
    }
  });

  it.each([{}, '', false, [], null, 0, { message: '', code: null }])(
    'with %j as its error beside a choice is good',
    (error) => {
      const reader = new ChunkReader(1);
      expect(readData(reader, chunk([delta({ content: 'x' })], { error }))).toBe('chunk');
    },
  );

  it.each([{ type: 'ping' }, { type: 'ping', message: 'on', code: 1 }, { status: 'ok', message: 'on' }, {}])(
    'that holds %j holds nothing for the client',
    (data) => {
      const reader = new ChunkReader(1);
      expect(readData(reader, JSON.stringify(data))).toBe('foreign');
      expect(reader.begun).toBe(false);
    },
  );

  it('begins with its first choice, and takes its id, time and model where they first come', () => {
    const reader = new ChunkReader(1);
    const empty = { id: '', object: '', created: 0, model: '' };
    expect(readData(reader, JSON.stringify({ ...empty, choices: [], prompt_filter_results: [] }))).toBe(
      'chunk',
    );
    expect([reader.begun, reader.responseModel]).toEqual([false, null]);
    readData(reader, chunk([delta({ content: 'x' })]));
    readData(reader, JSON.stringify({ ...empty, choices: [{ index: 0, content_filter_offsets: {} }] }));
    expect([reader.begun, reader.responseModel]).toEqual([true, head.model]);
    const added = JSON.parse(String(reader.endFrames({ ...reader.usage, ...noUsage })[0]).slice(6)) as object;
    expect(added).toMatchObject({ id: head.id, created: head.created, model: head.model });
  });

  it.each(['', 'null', 'None', false, 0, {}])('is not complete with %j as its reason to finish', (reason) => {
    const reader = new ChunkReader(1);
    readData(reader, chunk([{ index: 0, delta: { content: 'x' }, finish_reason: reason }]));
    expect(reader.complete).toBe(false);
  });

  it.each(['{"a":', 'text', '"text"', '7', 'null', '[DONE', 'true'])('that holds %s is broken', (data) => {
    expect(() => readData(new ChunkReader(1), data)).toThrow();
  });

  it.each<[string, unknown, string?]>([
    [
      'choices that are none',
      [null, 7, 'x', {}, { delta: null }, { delta: 'x' }, { index: 'x', delta: { content: 7 } }],
    ],
    ['choices that are no list', { 0: {} }, 'foreign'],
    ['no choices', undefined, 'foreign'],
  ])('with %s is taken as it comes', (_name, choices, kind = 'chunk') => {
    const reader = new ChunkReader(1);
    expect(readData(reader, chunk(choices))).toBe(kind);
    expect(reader).toMatchObject({ answer: { beginning: '', chars: 0 }, complete: false });
  });

  it('is complete when every answer that was asked for has its reason to finish', () => {
    const reader = new ChunkReader(2);
    readData(reader, chunk([delta({ content: 'a' }, 'stop', 0)]));
    readData(reader, chunk([delta({}, 'stop', 0)]));
    expect(reader.complete).toBe(false);
    readData(reader, chunk([delta({ content: 'b' }, null, 1)]));
    expect(reader.complete).toBe(false);
    readData(reader, chunk([delta({}, 'length', 1)]));
    expect(reader.complete).toBe(true);
  });

  it('takes the newest of running totals', () => {
    const reader = new ChunkReader(1);
    for (const completion_tokens of [1, 2, 3])
      readData(reader, chunk([delta({})], { usage: { ...usage, completion_tokens } }));
    readData(reader, chunk([delta({}, 'stop')], { usage: null }));
    expect(reader.usage?.outputTokens).toBe(3);
  });

  it('keeps what was reported of its usage when later figures are missing or 0', () => {
    const reader = new ChunkReader(1);
    const reports = [
      { input_tokens: 40, cache_read_input_tokens: 60, output_tokens: 1 },
      { output_tokens: 9 },
      { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    ];
    for (const report of reports) readData(reader, chunk([delta({})], { usage: report }));
    expect(reader.usage).toMatchObject({ inputTokens: 100, cachedInputTokens: 60, outputTokens: 9 });
  });

  it.each([
    ['a choice', { choices: [{ ...delta({}, 'stop'), usage: { ...usage, cached_tokens: 4 } }] }],
    [
      'x_groq',
      {
        choices: [delta({}, 'stop')],
        x_groq: { id: 'r', usage: { ...usage, prompt_tokens_details: { cached_tokens: 4 } } },
      },
    ],
  ])('finds its usage in %s', (_where, data) => {
    const reader = new ChunkReader(1);
    expect(readData(reader, JSON.stringify({ ...head, ...data }))).toBe('chunk');
    expect(reader.usage).toMatchObject({ inputTokens: 5, cachedInputTokens: 4, outputTokens: 3 });
  });

  it('gets a usage chunk in its own name when the provider sent none', () => {
    const reader = new ChunkReader(1);
    readData(reader, chunk([delta({ content: 'x' })]));
    const [frame, end] = reader.endFrames({
      inputTokens: 5,
      cacheWriteTokens: 0,
      cachedInputTokens: 1,
      outputTokens: 3,
      reasoningTokens: 2,
      estimated: true,
    });
    expect(String(end)).toBe('data: [DONE]\n\n');
    const made = String(frame);
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
    const reader = new ChunkReader(1);
    const piece = '\ud800x'.repeat(15_000);
    for (let round = 0; round < 8; round += 1) readData(reader, chunk([delta({ content: piece })]));
    expect(reader.answer).toEqual({ beginning: piece.repeat(2).slice(0, 50_000), chars: 240_000 });
  });
});
