import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Fields } from '@gatehouse/kit/fields';
import { EventReader } from '../anthropic-messages/stream.ts';
import { ChunkReader } from '../openai-chat/chunk-reader.ts';
import { chunksOf, chunkWays, frameWays, said } from '@gatehouse/test/odd-answers';
import { FrameSplitter } from '../wire/sse-frames.ts';
import { facts } from '@gatehouse/test/translation-samples';
import { translationBetween } from './translation.ts';

const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 });

/** The frames that a client gets for these. */
function streamed(from: DialectName, to: DialectName, frames: readonly Buffer[]): Buffer[] {
  const stream = translationBetween(from, to, facts).stream();
  return [...frames.flatMap((frame) => stream.frames(frame)), ...stream.end()];
}

function chunkFrame(chunk: object): Buffer {
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);
}

function eventFrame(event: Fields & { type: string }): Buffer {
  return Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

function typesIn(frames: readonly Buffer[]): string[] {
  return frames.map((frame) => /^event: (.*)$/m.exec(frame.toString())?.[1] ?? '');
}

const chunk = (delta: Fields, reason: string | null = null): Buffer =>
  chunkFrame({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] });
const done = Buffer.from('data: [DONE]\n\n');

describe('a stream of chat completions for a client of messages', () => {
  it.each(Object.entries(chunkWays))('reads %s', (_name, way) => {
    fc.assert(
      fc.property(said, sizes, (answer, each) => {
        const frames = [...way(chunksOf(answer, each)).map(chunkFrame), done];
        const reader = new EventReader(true);
        const kinds = streamed('messages', 'chat', frames).map((frame) => reader.read(frame));
        expect(kinds.at(-1)).toBe('done');
        const inputs = answer.calls.map(({ name, args }) => `${name}{}${JSON.stringify(args)}`);
        const thought = reader.answer.beginning;
        expect(thought).toBe([answer.text, ...inputs].join(''));
        expect(reader.usage).toMatchObject({
          inputTokens: answer.usage.input,
          outputTokens: answer.usage.output,
        });
      }),
      { numRuns: 20 },
    );
  });

  it.each(Object.entries(frameWays))('reads frames %s', (_name, way) => {
    const [answer] = fc.sample(said, { numRuns: 1, seed: 3 });
    if (answer === undefined) throw new Error('there is no sample');
    const text = way([...chunksOf(answer, [4]).map((each) => JSON.stringify(each)), '[DONE]']);
    const splitter = new FrameSplitter();
    const frames = splitter.push(Buffer.from(text));
    if (splitter.rest.length > 0) frames.push(Buffer.concat([splitter.rest, Buffer.from('\n\n')]));
    const written = streamed('messages', 'chat', frames);
    expect(typesIn(written).at(-1)).toBe('message_stop');
  });

  it('has the order of events that its API has, thoughts and calls in blocks of their own', () => {
    const frames = [
      chunk({ role: 'assistant', content: '' }),
      chunk({ reasoning_content: 'hm' }),
      chunk({ content: 'Yes' }),
      chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"q":1}' } }] }),
      chunk({}, 'tool_calls'),
      chunkFrame({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } }),
      done,
    ];
    const written = streamed('messages', 'chat', frames);
    expect(typesIn(written)).toEqual([
      'message_start',
      ...['content_block_start', 'content_block_delta', 'content_block_delta', 'content_block_stop'],
      ...['content_block_start', 'content_block_delta', 'content_block_stop'],
      ...['content_block_start', 'content_block_delta', 'content_block_stop'],
      ...['message_delta', 'message_stop'],
    ]);
    expect(written.at(-2)?.toString()).toContain(
      '"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":5,',
    );
  });

  it('puts calls that come at the same time one after the other', () => {
    const piece = (index: number, text: string, more: Fields = {}): Buffer =>
      chunk({
        tool_calls: [
          { index, ...more, function: { ...(more['id'] !== undefined && { name: 'f' }), arguments: text } },
        ],
      });
    const frames = [
      piece(0, '{"a":', { id: 'x' }),
      piece(1, '{"b":', { id: 'y' }),
      piece(1, '2}'),
      piece(0, '1}'),
      chunk({}, 'tool_calls'),
      done,
    ];
    const inputs: string[] = [];
    for (const frame of streamed('messages', 'chat', frames)) {
      const event = JSON.parse(/^data: (.*)$/m.exec(frame.toString())?.[1] ?? '{}') as Fields;
      const { partial_json: json } = Object(event['delta']) as Fields;
      if (event['type'] === 'content_block_start') inputs.push('');
      else if (typeof json === 'string') inputs.push((inputs.pop() ?? '') + json);
    }
    expect(inputs).toEqual(['{"a":1}', '{"b":2}']);
  });

  it('is bounded where pieces of calls wait without end', () => {
    const stream = translationBetween('messages', 'chat', facts).stream();
    const text = 'x'.repeat(60_000);
    stream.frames(chunk({ tool_calls: [{ index: 0, id: 'x', function: { name: 'f', arguments: '{' } }] }));
    stream.frames(chunk({ tool_calls: [{ index: 1, id: 'y', function: { name: 'f', arguments: '{' } }] }));
    const more = chunk({ tool_calls: [{ index: 1, function: { arguments: text } }] });
    expect(() => {
      for (let pieces = 0; pieces < 1_000; pieces += 1) stream.frames(more);
    }).toThrow('at the same time');
  });

  it.each([
    ['responses', 'gemini', { parts: [{ functionCall: { name: 'f', args: { q: '\n'.repeat(400_000) } } }] }],
    [
      'chat',
      'gemini',
      { parts: Array.from({ length: 9_000 }, () => ({ functionCall: { name: 'f', args: {} } })) },
    ],
  ] as const)('for a client of %s is read within a bound of work: %s', (client, upstream, content) => {
    const stream = translationBetween(client, upstream, facts).stream();
    expect(() => stream.frames(chunkFrame({ candidates: [{ content }] }))).toThrow('too much JSON');
    const long = { parts: [{ text: 'x'.repeat(4 * 1024 * 1024) }] };
    expect(() => stream.frames(chunkFrame({ candidates: [{ content: long }] }))).toThrow('too large');
  });

  it('has few frames at once, however many pieces have waited', () => {
    const stream = translationBetween('messages', 'chat', facts).stream();
    const piece = (index: number, call: Fields): Buffer => chunk({ tool_calls: [{ index, ...call }] });
    stream.frames(piece(0, { id: 'x', function: { name: 'f', arguments: '{' } }));
    stream.frames(piece(1, { id: 'y', function: { name: 'f', arguments: '{"a":"' } }));
    for (let pieces = 0; pieces < 20_000; pieces += 1)
      stream.frames(piece(1, { function: { arguments: 'a' } }));
    expect(stream.frames(piece(0, { function: { arguments: '}' } })).length).toBeLessThan(10);
    expect(stream.answer.chars).toBeGreaterThan(20_000);
  });

  it('counts nothing where the provider reports nothing, so that the gateway counts', () => {
    const reader = new EventReader();
    for (const frame of streamed('messages', 'chat', [chunk({ content: 'a' }), chunk({}, 'stop'), done]))
      reader.read(frame);
    expect(reader).toMatchObject({ complete: true, usage: null });
  });

  it('says in its own words why an answer stopped', () => {
    const reasonOf = (reason: string): unknown => {
      const frame = streamed('messages', 'chat', [chunk({ content: 'a' }), chunk({}, reason), done]).at(-2);
      return /"stop_reason":"(\w+)"/.exec(frame?.toString() ?? '')?.[1];
    };
    expect(['stop', 'length', 'content_filter'].map(reasonOf)).toEqual(['end_turn', 'max_tokens', 'refusal']);
  });

  it('has the error that the provider reports', () => {
    const error = { message: 'Slow down', type: 'rate_limit_error', code: null };
    const stream = translationBetween('messages', 'chat', facts).stream();
    const frames = [chunk({ content: 'a' }), chunkFrame({ error }), done];
    expect(typesIn(frames.flatMap((frame) => stream.frames(frame)))).toEqual([
      ...['message_start', 'content_block_start', 'content_block_delta'],
    ]);
    // The words may name the platform's account.
    expect(stream.error).toEqual({ status: 429 });
  });
});

const start = eventFrame({
  type: 'message_start',
  message: {
    id: 'msg_1',
    model: 'm',
    usage: { input_tokens: 9, cache_read_input_tokens: 4, output_tokens: 1 },
  },
});

describe('a stream of messages for a client of chat completions', () => {
  it('ends as its API does, with usage last', () => {
    const frames = [
      start,
      eventFrame({ type: 'ping' }),
      eventFrame({
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: 'a', name: 'f', input: {} },
      }),
      eventFrame({ type: 'content_block_stop', index: 0 }),
      eventFrame({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 3 } }),
      eventFrame({ type: 'message_stop' }),
    ];
    const reader = new ChunkReader(1);
    const written = streamed('chat', 'messages', frames);
    expect(written.map((frame) => reader.read(frame))).toEqual([
      'chunk',
      'chunk',
      'chunk',
      'chunk',
      'usage',
      'done',
    ]);
    expect(reader.answer.beginning).toBe('f{}');
    expect(reader.usage).toMatchObject({ inputTokens: 13, cachedInputTokens: 4, outputTokens: 3 });
  });

  it('keeps the input that a server sends at the start of a call to the letter', () => {
    const block = '{"type":"tool_use","id":"a","name":"f","input":{"2":12345678901234567890,"1":1.0}}';
    const frame = Buffer.from(`data: {"type":"content_block_start","index":0,"content_block":${block}}\n\n`);
    const stop = eventFrame({ type: 'content_block_stop', index: 0 });
    const text = Buffer.concat(streamed('chat', 'messages', [start, frame, stop])).toString();
    expect(text).toContain(JSON.stringify('{"2":12345678901234567890,"1":1.0}'));
  });

  it('ends without [DONE] where the provider cuts it', () => {
    const text = eventFrame({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'text', text: 'Hi' },
    });
    const written = Buffer.concat(streamed('chat', 'messages', [start, text])).toString();
    expect(written).toContain('"content":"Hi"');
    expect(written).not.toMatch(/DONE|"finish_reason":"/);
  });

  it('reports the usage so far, for a stream that is cut', () => {
    const stream = translationBetween('chat', 'messages', facts).stream();
    stream.frames(start);
    expect(stream.usage).toMatchObject({ inputTokens: 13, cachedInputTokens: 4 });
  });

  it('has an overload without its words', () => {
    const error = { type: 'overloaded_error', message: 'the account is busy' };
    const stream = translationBetween('chat', 'messages', facts).stream();
    expect(stream.frames(start)).toHaveLength(1);
    expect(stream.frames(eventFrame({ type: 'error', error }))).toEqual([]);
    // The words may name the platform's account.
    expect(stream.error).toEqual({ status: 529 });
  });
});

describe('the service tier of a translated stream', () => {
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  const tiered = { input_tokens: 3, output_tokens: 2, service_tier: 'priority' };
  const response = { id: 'r', status: 'completed', output: [], usage: { input_tokens: 3, output_tokens: 2 } };

  it.each<[DialectName, DialectName, Buffer]>([
    ['messages', 'chat', chunkFrame({ id: 'c', choices: [], usage, service_tier: 'priority' })],
    [
      'chat',
      'messages',
      eventFrame({ type: 'message_start', message: { id: 'm', model: 'm', usage: tiered } }),
    ],
    [
      'chat',
      'responses',
      eventFrame({ type: 'response.completed', response: { ...response, service_tier: 'priority' } }),
    ],
  ])('is known, for its price: %s with %s', (from, to, frame) => {
    const stream = translationBetween(from, to, facts).stream();
    expect(stream.serviceTier).toBeNull();
    stream.frames(frame);
    expect([stream.serviceTier, stream.usage?.inputTokens]).toEqual(['priority', 3]);
  });
});
