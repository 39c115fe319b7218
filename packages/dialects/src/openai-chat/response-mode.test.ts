import { describe, expect, it } from '@jest/globals';
import { answerKind } from '../wire/answer-kind.ts';
import { ChatAnswerBuilder, streamFrames } from './response-mode.ts';
import { frameData } from '../wire/sse-frames.ts';
import { ChunkReader } from './chunk-reader.ts';
import { readWhole } from './whole-answer.ts';

it.each<[string, ReturnType<typeof answerKind>]>([
  ['{"id":1}', 'object'],
  ['\ufeff \r\n{', 'object'],
  ['data: x', 'events'],
  ['\ufeffdata:x', 'events'],
  [': comment', 'events'],
  ['event: x', 'events'],
  ['retry:1', 'events'],
  ['', null],
  ['\ufeff', null],
  ['  \n', null],
  ['da', null],
  ['ev', null],
  ['<html>', 'other'],
  ['[1]', 'other'],
  ['date', 'other'],
  ['database: x', 'other'],
  [' '.repeat(2_000), 'other'],
])('the answer that begins with %j is %j', (text, kind) => {
  expect(answerKind(Buffer.from(text))).toBe(kind);
});

const head = { id: 'c-1', created: 7, model: 'm-1' };
const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
const call = (id: string, args: string) => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: args },
});
const message = { role: 'assistant', content: 'Hi.', tool_calls: [call('1', '{"a":1}'), call('2', '{"b":')] };
const whole = {
  ...head,
  object: 'chat.completion',
  choices: [
    { index: 0, message, finish_reason: 'tool_calls' },
    { index: 1, message: { role: 'assistant', content: 'Ho.' }, finish_reason: 'stop' },
  ],
  usage,
  service_tier: 'flex',
};
const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

function built(frames: readonly (object | string)[]): unknown {
  const builder = new ChatAnswerBuilder();
  for (const frame of frames)
    builder.add(Buffer.from(typeof frame === 'string' ? frame : `data: ${JSON.stringify(frame)}\n\n`));
  const { built } = builder;
  return built === null ? null : JSON.parse(built.toString());
}

describe('a response in the other mode', () => {
  it('becomes frames that a stream would have, and these the same answer', () => {
    const frames = streamFrames(bytesOf(whole));
    const reader = new ChunkReader(2);
    const kinds = frames.map((frame) => reader.read(frame));
    expect(kinds).toEqual(['chunk', 'chunk', 'usage', 'done']);
    expect(reader).toMatchObject({ complete: true, begun: true, responseModel: 'm-1', serviceTier: 'flex' });
    expect(reader.usage).toMatchObject({ inputTokens: 9, outputTokens: 2 });
    expect(built(frames.map(String))).toEqual(whole);
  });

  it('that has no choices is one frame, which says what it is', () => {
    for (const odd of [
      { error: { message: 'no' } },
      { choices: [] },
      { choices: [{ message: null, error: 'no' }] },
      {},
    ])
      expect(streamFrames(bytesOf(odd)).map(frameData)).toEqual([JSON.stringify(odd)]);
    for (const none of ['[]', 'null', '{', '7', '{"choices":[{"message":null,"finish_reason":"stop"}]}'])
      expect(() => streamFrames(Buffer.from(none))).toThrow();
  });

  it('that broke off is broken in its frames', () => {
    const broken = {
      ...whole,
      choices: [{ index: 0, message, finish_reason: 'error', error: { message: 'lost' } }],
    };
    const reader = new ChunkReader(1);
    expect(
      streamFrames(bytesOf(broken))
        .slice(0, 2)
        .map((frame) => reader.read(frame)),
    ).toEqual(['chunk', 'error']);
    expect(reader.error).toMatchObject({ message: 'lost' });
  });

  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason }],
  });

  it('is put together of pieces, without pings, nulls and comments', () => {
    const said = built([
      ': wait\n\n',
      { id: '', created: 0, model: '', choices: [], prompt_filter_results: [] },
      { type: 'ping' },
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'H', __proto__: { polluted: true } }),
      { ...chunk({ content: 'i.' }), usage: null },
      chunk({}, 'stop'),
      { usage },
      'data: [DONE]\n\n',
      chunk({ content: 'late' }),
    ]);
    expect(said).toMatchObject({
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
      usage,
    });
  });

  it('that broke off has its error in a choice, so that what was generated is paid for', async () => {
    const begun = chunk({ content: 'x' });
    const late = { error: { code: 429, message: 'late' } };
    for (const [frames, message] of [
      [[begun], 'ended early'],
      [[{ ...begun, usage }, late], 'late'],
      [[begun, 'event: error\ndata: {"message":"late"}\n\n'], 'late'],
    ] as const) {
      const answer = await readWhole(bytesOf(built(frames)), { tenantId: null });
      expect(answer.broken?.message).toContain(message);
      expect(answer.answer.beginning).toBe('x');
    }
    expect(built([{ ...begun, usage }, late])).toMatchObject({ usage });
    expect(built([chunk({ content: 'x' }, 'stop')])).not.toHaveProperty('choices.0.error');
  });

  it('has the text of up to 256 choices, and the error of one of them', async () => {
    const choices = Array.from({ length: 256 }, (_, index) => ({
      ...{ index, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' },
      ...(index === 255 && { error: { message: 'lost' } }),
    }));
    const { broken, answer } = await readWhole(bytesOf({ ...whole, choices }), { tenantId: null });
    expect(answer.chars).toBe(2 * 256 - 1);
    expect(broken).toMatchObject({ message: 'lost' });
  });

  it('that did not begin is its error, or nothing', async () => {
    expect(built(['data: [DONE]\n\n'])).toBeNull();
    expect(built([])).toBeNull();
    for (const frame of [
      { error: { code: 429, message: 'no' } },
      'event: error\ndata: {"code":429,"message":"no"}\n\n',
    ])
      expect(() => readWhole(bytesOf(built([frame])), { tenantId: null })).toThrow(
        expect.objectContaining({ error: { status: 429, message: 'no' } }),
      );
    expect(() => built(['data: {"a"\n\n'])).toThrow();
    expect(() => built(['data: 7\n\n'])).toThrow();
  });

  it('keeps lists of parts whole, and calls however they are written', () => {
    const parts = (text: string) => chunk({ content: [{ type: 'text', text }] });
    const calls = chunk({ function_call: { name: 'f', arguments: '{}' } });
    expect(built([parts('Hel'), parts('lo'), calls, 'data: [DONE]\n\n'])).toMatchObject({
      choices: [
        {
          message: {
            content: [{ type: 'text', text: 'Hello' }],
            tool_calls: [{ type: 'function', function: { name: 'f', arguments: '{}' } }],
          },
          finish_reason: 'tool_calls',
        },
      ],
    });
    const odd = { choices: [{ message: { content: null, tool_calls: call('1', '{}') } }] };
    const [first = Buffer.of(), second = Buffer.of()] = streamFrames(bytesOf(odd));
    expect(JSON.parse(frameData(first) ?? '')).toMatchObject({
      choices: [{ delta: { tool_calls: [{ id: '1', index: 0 }] } }],
    });
    expect(JSON.parse(frameData(second) ?? '')).toMatchObject({ choices: [{ finish_reason: 'tool_calls' }] });
  });

  it('has no more choices than a model gives', () => {
    const many = Array.from({ length: 200 }, (_, index) => ({ index, delta: { content: 'x' } }));
    expect(() => built([{ ...head, choices: many }])).toThrow('too many');
  });
});
