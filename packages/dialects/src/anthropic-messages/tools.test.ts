import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readWhole } from './response.ts';
import { NoAnswer } from '../dialect.ts';
import { JsonSource, RawJson } from '../wire/json-text.ts';
import { FrameSplitter } from '../wire/sse-frames.ts';
import { ContentBuilder, MessageToolAnswers, MessageToolStream } from './tools.ts';
import { EventReader, eventOf } from './stream.ts';
import { MessageAnswerBuilder, streamFrames } from './response-mode.ts';

type Fields = Record<string, unknown>;

const message = (
  content: Fields[],
  stop_reason = 'end_turn',
  usage: object = { input_tokens: 5, output_tokens: 3 },
) => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x' },
  ...{ content, stop_reason, stop_sequence: null, usage },
});
const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const callOf = (name: string, id: string, input: Fields = {}): Fields => ({
  type: 'tool_use',
  id,
  name,
  input,
});
const thought = { type: 'thinking', thinking: 'hm', signature: 'c2ln' };
const said = (text: string): Fields => ({ type: 'text', text });
const isOwn = (name: string): boolean => name.startsWith('own');

function built(frames: readonly Buffer[]): Fields {
  const builder = new MessageAnswerBuilder();
  for (const frame of frames) builder.add(frame);
  return JSON.parse(String(builder.built)) as Fields;
}

const block = fc.oneof(
  fc.string({ minLength: 1 }).map(said),
  fc.record({ type: fc.constant('thinking'), thinking: fc.string(), signature: fc.base64String() }),
  fc.record({ type: fc.constant('redacted_thinking'), data: fc.base64String() }),
  fc.record({
    ...{ type: fc.constant('tool_use'), id: fc.uuid(), name: fc.constantFrom('a', 'b') },
    input: fc.dictionary(fc.constantFrom('q', 'n'), fc.jsonValue({ maxDepth: 2 })),
  }),
);

describe('a response in the other mode', () => {
  it('means the same as frames and as a whole', () => {
    fc.assert(
      fc.property(fc.array(block, { maxLength: 6 }), (content) => {
        const whole = JSON.parse(JSON.stringify(message(content))) as Fields;
        expect(built(streamFrames(bytesOf(whole)))).toEqual(whole);
      }),
    );
  });

  it('means the same wherever a stream is cut into pieces', () => {
    const whole = message([thought, said('Größe 東京'), callOf('a', 't1', { q: 'é' })], 'tool_use');
    const bytes = Buffer.concat(streamFrames(bytesOf(whole)));
    for (let at = 1; at < bytes.length; at += 1) {
      const splitter = new FrameSplitter();
      expect(built([...splitter.push(bytes.subarray(0, at)), ...splitter.push(bytes.subarray(at))])).toEqual(
        whole,
      );
    }
  });

  it('that broke off has its content and an error', async () => {
    const frames = streamFrames(bytesOf(message([said('some')]))).slice(0, 3);
    const answer = built(frames);
    expect(answer).toMatchObject({ content: [said('some')], error: { message: 'The stream ended early.' } });
    const read = await readWhole(bytesOf(answer), { tenantId: null });
    expect(read).toMatchObject({
      broken: {},
      answer: { beginning: 'some' },
    });
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    expect(built([Buffer.from(`event: error\ndata: ${JSON.stringify(error)}\n\n`)])).toEqual({
      error: { message: 'The provider failed.', code: 529 },
    });
  });
});

describe('a whole answer', () => {
  it('is read for usage, text and model', async () => {
    const whole = message([thought, said('Hello'), callOf('a', 't', { q: 1 })], 'end_turn', {
      ...{ input_tokens: 5, cache_creation_input_tokens: 2, cache_read_input_tokens: 1, output_tokens: 3 },
      service_tier: 'standard',
    });
    expect(await readWhole(bytesOf(whole), { tenantId: null, keepsText: true })).toEqual({
      ...{ broken: null, responseModel: 'claude-x', serviceTier: 'standard', text: 'Hello' },
      answer: { beginning: 'hmHelloa{"q":1}', chars: 15 },
      usage: {
        ...{ inputTokens: 8, cachedInputTokens: 1, cacheWriteTokens: 2, outputTokens: 3 },
        ...{ reasoningTokens: 0, estimated: false },
      },
    });
  });

  it('that calls tools is not yet the answer that is kept', async () => {
    const whole = message([said('Let me see.'), callOf('a', 't')], 'tool_use');
    expect((await readWhole(bytesOf(whole), { tenantId: null, keepsText: true })).text).toBe('');
    const reader = new EventReader(true);
    for (const frame of streamFrames(bytesOf(whole))) reader.read(frame);
    expect(reader.keptText).toBe('');
  });

  it.each([
    [{ type: 'error', error: { type: 'invalid_request_error', message: 'x' } }, 'x'],
    [{ type: 'error', error: { type: 'rate_limit_error', message: 'org-1 waits' } }, undefined],
    [{ detail: 'y' }, undefined],
    [{ choices: [{ message: { content: 'another API' } }] }, undefined],
    [[1], undefined],
    ['text', undefined],
  ])('%j is none', async (value, words) => {
    const error: unknown = await readWhole(bytesOf(value), { tenantId: null }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(NoAnswer);
    expect((error as NoAnswer).error?.message).toBe(words);
  });

  it('that broke off asks for no call of a tool', () => {
    for (const reason of ['max_tokens', 'refusal']) {
      const answers = new MessageToolAnswers(isOwn);
      const said = answers.add(message([callOf('own_a', 't', { a: 1 })], reason));
      expect(said?.calls).toEqual([]);
      expect(JSON.parse(String(answers.shown))).toMatchObject({ content: [], stop_reason: reason });
    }
  });

  it('that is too large to be parsed at once is read by its members', async () => {
    const large = message([said('beginning'), { type: 'text', text: 'x'.repeat(13 * 2 ** 20) }]);
    const read = await readWhole(bytesOf(large), { tenantId: null, keepsText: true });
    expect(read).toMatchObject({ usage: { outputTokens: 3 }, text: 'beginning', responseModel: 'claude-x' });
    expect(read.answer.chars).toBeGreaterThan(13 * 2 ** 20);
  });
});

describe('numbers that JavaScript would write in another way', () => {
  const input = '{"id":9007199254740993,"ratio":1.0,"big":1e400}';

  it('stay as they are in whole answers, for the model and for the client', () => {
    const call = (name: string) => `{"type":"tool_use","id":"${name}","name":"${name}","input":${input}}`;
    const text = `{"role":"assistant","stop_reason":"tool_use","content":[${call('own_a')},${call('theirs')}]}`;
    const answers = new MessageToolAnswers(isOwn);
    const said = answers.add(JSON.parse(text) as Record<string, unknown>, new JsonSource(Buffer.from(text)));
    expect(said?.calls.map(({ argumentsJson }) => argumentsJson)).toEqual([input, input]);
    expect(said?.identified(new Set()).text.split(input)).toHaveLength(3);
    expect(String(answers.shown).split(input)).toHaveLength(2);
  });

  it('stay as they are in a whole answer in place of a stream, and in a stream in place of one', () => {
    const text = `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"a","input":${input}}]}`;
    const frames = streamFrames(Buffer.from(text));
    const builder = new MessageAnswerBuilder();
    for (const frame of frames) builder.add(frame);
    expect(Buffer.concat(frames).toString()).toContain(JSON.stringify(input));
    expect(String(builder.built)).toContain(input);
  });

  it('stay as they are in streams, in pieces and in the start of a call', () => {
    for (const pieces of [['{"id":90071992', '54740993,"ratio":1.0,"big":1e400}'], []]) {
      const builder = new ContentBuilder();
      const started = pieces.length === 0 ? new RawJson(input) : {};
      builder.start(0, { type: 'tool_use', id: 't', name: 'own_a', input: started });
      for (const partial_json of pieces) builder.add(0, { type: 'input_json_delta', partial_json });
      expect(builder.built.text).toContain(input);
    }
  });
});

describe('whole answers of a turn with tools', () => {
  it('show the last, with the usage of all and without calls of the gateway', () => {
    const answers = new MessageToolAnswers(isOwn);
    const first = answers.add(
      message([thought, said(''), callOf('own_a', 't1', { q: 1 }), callOf('own_b', 't1')], 'tool_use'),
    );
    const known = first?.identified(new Set());
    const [one, other] = known?.calls ?? [];
    expect([one?.id, one?.argumentsJson]).toEqual(['t1', '{"q":1}']);
    expect(other?.id).toMatch(/^toolu_\w{32}$/);
    expect(JSON.parse(known?.text ?? '')).toEqual({
      role: 'assistant',
      content: [thought, callOf('own_a', 't1', { q: 1 }), callOf('own_b', other?.id ?? '')],
    });
    expect(known?.resultTexts(['r1', 'r2']).map((text) => JSON.parse(text) as unknown)).toEqual([
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't1', content: 'r1' },
          { type: 'tool_result', tool_use_id: other?.id, content: 'r2' },
        ],
      },
    ]);
    answers.add(message([said('done'), callOf('own_a', 't2')], 'tool_use'));
    expect(JSON.parse(String(answers.shown))).toEqual(
      message([said('done')], 'end_turn', { input_tokens: 10, output_tokens: 6 }),
    );
  });

  it('stay as they are without a call of the gateway', () => {
    const answers = new MessageToolAnswers(isOwn);
    answers.add(message([callOf('theirs', 't1')], 'tool_use'));
    expect(answers.shown).toBeNull();
  });
});

describe('streamed answers of a turn with tools', () => {
  function streamed(...answers: readonly ReturnType<typeof message>[]): {
    shown: Buffer[];
    stream: MessageToolStream;
  } {
    const shown: Buffer[] = [];
    const sink = {
      write: (frames: readonly Buffer[]) => shown.push(...frames) > 0,
      onDrain: () => undefined,
    };
    const stream = new MessageToolStream(sink, isOwn);
    for (const [index, answer] of answers.entries()) {
      if (index > 0) stream.next();
      const reader = new EventReader();
      const frames = streamFrames(bytesOf(answer)).filter((frame) => reader.read(frame) === 'chunk');
      for (const frame of frames) stream.write([frame]);
    }
    stream.finish();
    return { shown: [...shown, ...stream.endFrames()], stream };
  }

  it('are one message, without calls of the gateway and with the usage of all', () => {
    const { shown } = streamed(
      message([thought, said('Let me see.'), callOf('own_a', 't1', { q: 1 })], 'tool_use'),
      message([said('It is 4.'), callOf('theirs', 't2', { n: 4 })], 'tool_use'),
    );
    expect(shown.filter((frame) => eventOf(frame)?.type === 'message_start')).toHaveLength(1);
    expect(built(shown)).toEqual(
      message(
        [thought, said('Let me see.'), said('It is 4.'), callOf('theirs', 't2', { n: 4 })],
        'tool_use',
        {
          ...{ input_tokens: 10, output_tokens: 6 },
        },
      ),
    );
    const indexes = shown
      .map((frame) => eventOf(frame)?.fields['index'])
      .filter((index) => index !== undefined);
    expect([...new Set(indexes)]).toEqual([0, 1, 2, 3]);
  });

  it('end as a turn when only calls of the gateway were left out', () => {
    expect(built(streamed(message([said('x'), callOf('own_a', 't')], 'tool_use')).shown)).toMatchObject({
      content: [said('x')],
      stop_reason: 'end_turn',
    });
  });

  it('of one call without tools of the gateway stay byte for byte', () => {
    const whole = message([thought, said('x'), callOf('theirs', 't', { a: 1 })], 'tool_use');
    expect(Buffer.concat(streamed(whole).shown)).toEqual(Buffer.concat(streamFrames(bytesOf(whole))));
  });

  it('keep why they stopped, in however many events it is said', () => {
    const shown: Buffer[] = [];
    const sink = {
      write: (frames: readonly Buffer[]) => shown.push(...frames) > 0,
      onDrain: () => undefined,
    };
    const stream = new MessageToolStream(sink, isOwn);
    const event = (fields: Fields & { type: string }): Buffer =>
      Buffer.from(`event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`);
    stream.write([
      event({ type: 'content_block_start', index: 0, content_block: callOf('own_a', 't') }),
      event({ type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 0 } }),
      event({ type: 'message_delta', delta: {}, usage: { output_tokens: 7 } }),
    ]);
    expect(stream.message.calls).toEqual([]);
    stream.finish();
    expect(eventOf(shown.at(-1) ?? Buffer.alloc(0))?.fields).toMatchObject({
      delta: { stop_reason: 'max_tokens' },
      usage: { output_tokens: 7 },
    });
  });

  it('have no more calls, blocks or text than an answer may have', () => {
    const call = (n: number): Fields => callOf('theirs', `t${n}`);
    const many = Array.from({ length: 129 }, (_, n) => call(n));
    expect(() => streamed(message(many, 'tool_use'))).toThrow('too many calls');
    const builder = new ContentBuilder();
    builder.start(0, said(''));
    const citation = { type: 'char_location', cited_text: 'x'.repeat(100_000) };
    expect(() => {
      for (let n = 0; n < 100; n += 1) builder.add(0, { type: 'citations_delta', citation });
    }).toThrow('too large');
  });

  it('have the citations of a text in their order', () => {
    const builder = new ContentBuilder();
    builder.start(0, { ...said('x'), citations: [{ cited_text: 'a' }] });
    for (const cited_text of ['b', 'c'])
      builder.add(0, { type: 'citations_delta', citation: { cited_text } });
    expect(builder.built.blocks).toEqual([
      { ...said('x'), citations: [{ cited_text: 'a' }, { cited_text: 'b' }, { cited_text: 'c' }] },
    ]);
  });

  it('keep the input of tools that the provider has itself', () => {
    const builder = new ContentBuilder();
    builder.start(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} });
    builder.add(0, { type: 'input_json_delta', partial_json: '{"query":"weather"}' });
    expect(builder.built).toMatchObject({ calls: [], isSigned: false });
    expect(JSON.parse(builder.built.text)).toMatchObject({ content: [{ input: { query: 'weather' } }] });
  });

  it('give the calls to be made, with arguments in pieces', () => {
    const { stream } = streamed(message([callOf('own_a', 't1', { q: [1, 'é'] })], 'tool_use'));
    expect(stream.message.calls).toEqual([
      { id: 't1', name: 'own_a', argumentsText: '{"q":[1,"é"]}', argumentsJson: '{"q":[1,"é"]}' },
    ]);
  });
});
