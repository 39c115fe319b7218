import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { latestReport } from '../usage/reported-usage.ts';
import { FrameSplitter } from '../wire/sse-frames.ts';
import { NoAnswer } from '../dialect.ts';
import { geminiDialect } from './dialect.ts';
import { streamFrames, GeminiAnswerBuilder } from './response-mode.ts';
import { ResponseReader, frameOf, responseIn } from './stream.ts';
import { ContentToolAnswers } from './tools.ts';
import { ContentToolStream } from './tools.ts';
import { readWhole } from './response.ts';

type Fields = Record<string, unknown>;

const usageOf = (prompt: number, output: number): Fields => ({
  ...{ promptTokenCount: prompt, candidatesTokenCount: output, totalTokenCount: prompt + output },
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
});
const response = (parts: readonly Fields[], usageMetadata = usageOf(5, 3), more: Fields = {}): Fields => ({
  candidates: [{ content: { parts, role: 'model' }, finishReason: 'STOP', index: 0, ...more }],
  ...{ modelVersion: 'gemini-x', responseId: 'r1', usageMetadata },
});
const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const callOf = (name: string, args: Fields = {}, more: Fields = {}): Fields => ({
  functionCall: { name, args },
  ...more,
});
const thought = { text: 'hm', thought: true };
const signed = { thoughtSignature: 'c2ln' };
const said = (text: string): Fields => ({ text });
const isOwn = (name: string): boolean => name.startsWith('own');

function built(frames: readonly Buffer[]): Fields {
  const builder = new GeminiAnswerBuilder();
  for (const frame of frames) builder.add(frame);
  return JSON.parse(String(builder.built)) as Fields;
}

/** The frames of an answer, one for each of its parts, in which texts are cut into pieces of a size. */
function framesFor(answer: Fields, size = 1_000): Buffer[] {
  const { candidates, usageMetadata, ...others } = answer;
  const [candidate] = candidates as Fields[];
  const { content, ...end } = candidate ?? {};
  const { parts, ...ofContent } = content as { parts: Fields[] };
  const pieces = parts.flatMap((part) => {
    const { text } = part;
    if (typeof text !== 'string' || text === '' || Object.hasOwn(part, 'thoughtSignature')) return [part];
    return (text.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? []).map((piece) => ({ ...part, text: piece }));
  });
  return [
    ...pieces.map((part) =>
      frameOf({ ...others, candidates: [{ index: 0, content: { ...ofContent, parts: [part] } }] }),
    ),
    frameOf({ ...others, candidates: [{ ...end, content: ofContent }], usageMetadata }),
  ];
}

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const part = fc.oneof(
  text.map((value) => ({ text: value })),
  text.map((value) => ({ text: value, thought: true })),
  fc.record({ text: fc.string(), thoughtSignature: fc.base64String() }),
  fc.record({
    functionCall: fc.record({
      name: fc.constantFrom('a', 'b'),
      args: fc.dictionary(fc.constantFrom('q', 'n'), fc.jsonValue({ maxDepth: 1 })),
    }),
    thoughtSignature: fc.base64String(),
  }),
  fc.record({ inlineData: fc.record({ mimeType: fc.constant('image/png'), data: fc.base64String() }) }),
);
/** No two texts of a kind stand beside each other: they would be taken for pieces of one text. */
const contentParts = fc.array(part, { maxLength: 6 }).map((parts) =>
  parts.filter((each, index) => {
    const before = parts[index - 1];
    return before === undefined || Object.keys(before).join() !== Object.keys(each).join();
  }),
);

describe('a response in the other mode', () => {
  it('means the same as frames and as a whole', () => {
    fc.assert(
      fc.property(contentParts, fc.integer({ min: 1, max: 5 }), (parts, size) => {
        const whole = JSON.parse(JSON.stringify(response(parts))) as Fields;
        expect(built(framesFor(whole, size))).toEqual(whole);
        expect(streamFrames(bytesOf(whole)).map(String)).toEqual([`data: ${JSON.stringify(whole)}\n\n`]);
        expect(built(streamFrames(bytesOf(whole)))).toEqual(whole);
      }),
    );
  });

  it('means the same wherever a stream is cut into pieces, with any line ends', () => {
    const whole = response([thought, said('Größe 東京'), callOf('a', { q: 'é' }, signed)]);
    for (const lineEnd of ['\n', '\r\n']) {
      const bytes = Buffer.from(String(Buffer.concat(framesFor(whole, 2))).replaceAll('\n', lineEnd));
      for (let at = 1; at < bytes.length; at += 1) {
        const splitter = new FrameSplitter();
        const frames = [...splitter.push(bytes.subarray(0, at)), ...splitter.push(bytes.subarray(at))];
        expect(built(frames)).toEqual(whole);
        const reader = new ResponseReader(true);
        for (const frame of frames) reader.read(frame);
        expect([reader.complete, reader.answer.beginning]).toEqual([true, 'hmGröße 東京a{"q":"é"}']);
      }
    }
  });

  it('keeps its bytes as a frame, but for line ends', () => {
    const pretty =
      '{\r\n "candidates": [ {"content": {"parts": [{"text": "a\\nb"}]}, "n": 12345678901234567890 }]\n}';
    expect(String(streamFrames(Buffer.from(pretty))[0])).toBe(
      'data: {   "candidates": [ {"content": {"parts": [{"text": "a\\nb"}]}, "n": 12345678901234567890 }] }\n\n',
    );
    expect(() => streamFrames(bytesOf({ models: [] }))).toThrow('no candidates');
    expect(() => streamFrames(bytesOf([1]))).toThrow('not an object');
  });

  it('that broke off has its candidates and an error', async () => {
    const answer = built(framesFor(response([said('some')])).slice(0, 1));
    expect(answer).toMatchObject({
      candidates: [{ content: { parts: [said('some')] } }],
      error: { message: 'The stream ended early.' },
    });
    expect(await readWhole(bytesOf(answer), { tenantId: null })).toMatchObject({
      ...{ broken: {}, answer: { beginning: 'some' } },
    });
    const error = { error: { code: 429, message: 'projects/1 is slow', status: 'RESOURCE_EXHAUSTED' } };
    expect(built([frameOf(error)])).toEqual({ error: { message: 'The provider failed.', code: 429 } });
    const both = { ...response([said('some')]), ...error };
    const reader = new ResponseReader();
    expect(streamFrames(bytesOf(both)).map((frame) => reader.read(frame))).toEqual(['last', 'error']);
    expect(reader.error).toEqual({ status: 429 });
    expect(new GeminiAnswerBuilder().built).toBeNull();
  });

  it('of a prompt that was blocked is put together, too', () => {
    const blocked = { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 5 } };
    expect(built([frameOf(blocked)])).toEqual(blocked);
    expect(String(streamFrames(bytesOf(blocked))[0])).toBe(`data: ${JSON.stringify(blocked)}\n\n`);
  });

  it('is put together within bounds', () => {
    const builder = new GeminiAnswerBuilder();
    const parts = Array.from({ length: 1_000 }, () => ({ executableCode: { code: 'x' } }));
    expect(() => {
      for (let times = 0; times < 5; times += 1) builder.add(frameOf(response(parts)));
    }).toThrow('too many parts');
    const adding = (part: Fields, times: number) => () => {
      const large = new GeminiAnswerBuilder();
      for (let done = 0; done < times; done += 1) large.add(frameOf(response([part])));
    };
    const data = (chars: number): Fields => ({ inlineData: { data: 'x'.repeat(chars) } });
    expect(adding(said('x'.repeat(2 ** 20)), 3)).toThrow('too large');
    expect(adding(callOf('a'), 129)).toThrow('too many calls');
    expect(adding(data(6 * 2 ** 20), 2)).not.toThrow();
    expect(adding(data(6 * 2 ** 20), 3)).toThrow('too large');
  });
});

describe('a whole answer', () => {
  it('is read for usage, text and model', async () => {
    const usage = { ...usageOf(8, 3), cachedContentTokenCount: 6, thoughtsTokenCount: 2 };
    const whole = response([thought, said('Hello')], usage);
    expect(await readWhole(bytesOf(whole), { tenantId: null, keepsText: true })).toEqual({
      ...{ broken: null, responseModel: 'gemini-x', serviceTier: null, text: 'Hello' },
      answer: { beginning: 'hmHello', chars: 7 },
      usage: {
        ...{ inputTokens: 8, cachedInputTokens: 6, cacheWriteTokens: 0, outputTokens: 5 },
        ...{ reasoningTokens: 2, estimated: false },
      },
    });
  });

  it('that calls tools is not yet the answer that is kept', async () => {
    const whole = response([said('Let me see.'), callOf('a')]);
    expect((await readWhole(bytesOf(whole), { tenantId: null, keepsText: true })).text).toBe('');
  });

  it.each([
    [{ promptFeedback: { blockReason: 'SAFETY' } }],
    [{ usageMetadata: usageOf(5, 0), modelVersion: 'gemini-x' }],
  ])('%j is one without candidates', async (value) => {
    expect(await readWhole(bytesOf(value), { tenantId: null })).toMatchObject({ broken: null });
  });

  it.each([
    [{ error: { code: 400, message: 'x', status: 'INVALID_ARGUMENT' } }, 'x'],
    [{ error: { code: 500, message: 'projects/1', status: 'INTERNAL' } }, undefined],
    [[{ error: { code: 400, message: 'y' } }], 'y'],
    [{ choices: [{ message: { content: 'another API' } }] }, undefined],
    [{ candidates: [] }, undefined],
    [[1], undefined],
    ['text', undefined],
  ])('%j is none', async (value, words) => {
    const error: unknown = await readWhole(bytesOf(value), { tenantId: null }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(NoAnswer);
    expect((error as NoAnswer).error?.message).toBe(words);
  });

  it('that is too large to be parsed at once is read by its members', async () => {
    const picture = { inlineData: { mimeType: 'image/png', data: 'x'.repeat(13 * 2 ** 20) } };
    const read = await readWhole(bytesOf(response([said('beginning'), picture, said('!')])), {
      ...{ tenantId: null, keepsText: true },
    });
    expect(read).toMatchObject({ usage: { outputTokens: 3 }, text: 'beginning!', responseModel: 'gemini-x' });
    expect(read.answer.chars).toBeGreaterThan(13 * 2 ** 20);
  });
});

describe('an error of the provider', () => {
  const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '3.5s' };
  it.each([
    [
      { error: { code: 429, message: 'Slow', status: 'RESOURCE_EXHAUSTED', details: [{}, retry] } },
      429,
      3_500,
    ],
    [[{ error: { code: 400, message: 'Slow' } }], 400, undefined],
    [{ error: { message: 'Slow', status: 'UNAVAILABLE', details: [{ retryDelay: '1s' }] } }, 503, undefined],
    [{ error: { message: 'Slow', details: [{ ...retry, retryDelay: '-1s' }] } }, undefined, undefined],
  ])('%j is read with its status and the time to wait', (body, status, retryAfterMs) => {
    expect(geminiDialect.parseError(body as Fields)).toMatchObject({ message: 'Slow' });
    const { status: found, retryAfterMs: wait } = geminiDialect.parseError(body as Fields) as Fields;
    expect([found, wait]).toEqual([status, retryAfterMs]);
  });
});

it('a tool is declared with the schema of its arguments as JSON Schema', () => {
  const { toolText } = geminiDialect;
  const text = toolText({ name: 'a', description: 'Says "a".', schemaJson: '{"type":"object"}' });
  expect(JSON.parse(text)).toEqual({
    ...{ name: 'a', description: 'Says "a".', parametersJsonSchema: { type: 'object' } },
  });
});

it('usage has no more names, modalities and text than any usage', () => {
  const names = Object.fromEntries(Array.from({ length: 1_000 }, (_none, index) => [`n${index}`, index]));
  const many = Array.from({ length: 100 }, () => ({
    modality: 'TEXT',
    tokenCount: 1,
    more: 'x'.repeat(1_000),
  }));
  const merged = latestReport(
    {},
    { long: 'x'.repeat(1_000), nested: {}, promptTokensDetails: many, ...names },
  );
  expect(Object.keys(merged)).toHaveLength(64);
  expect(merged['promptTokensDetails']).toEqual(Array(32).fill({ modality: 'TEXT', tokenCount: 1 }));
});

describe('whole answers of a turn with tools', () => {
  it('show the last, with the usage of all and without calls of the gateway', () => {
    const answers = new ContentToolAnswers(isOwn);
    const withId = { functionCall: { name: 'own_b', args: { q: 1 }, id: 'g1' } };
    const parts = [thought, said(''), callOf('own_a', { q: 1 }, signed), withId, { text: '', ...signed }];
    const known = answers.add(response(parts))?.identified(new Set());
    const [one, other] = known?.calls ?? [];
    expect(one?.id).toMatch(/^call_\w{32}$/);
    expect([one?.argumentsJson, other?.id]).toEqual(['{"q":1}', 'g1']);
    expect(JSON.parse(known?.text ?? '')).toEqual({
      role: 'model',
      parts: [thought, callOf('own_a', { q: 1 }, signed), withId, { text: '', ...signed }],
    });
    expect(known?.resultTexts(['r1', 'r2']).map((text) => JSON.parse(text) as unknown)).toEqual([
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'own_a', response: { output: 'r1' } } },
          { functionResponse: { id: 'g1', name: 'own_b', response: { output: 'r2' } } },
        ],
      },
    ]);
    answers.add(response([said('done'), callOf('own_a')]));
    expect(JSON.parse(String(answers.shown))).toEqual(response([said('done')], usageOf(10, 6)));
  });

  it('stay as they are without a call of the gateway', () => {
    const answers = new ContentToolAnswers(isOwn);
    answers.add(response([callOf('theirs')]));
    expect(answers.shown).toBeNull();
    expect(answers.add({ promptFeedback: { blockReason: 'SAFETY' } })).toBeNull();
  });

  it('that broke off ask for no call of a tool', () => {
    for (const finishReason of ['MAX_TOKENS', 'SAFETY', 'MALFORMED_FUNCTION_CALL']) {
      const answers = new ContentToolAnswers(isOwn);
      const broken = response([callOf('own_a', {}, signed)], usageOf(5, 3), { finishReason });
      expect(answers.add(broken)).toMatchObject({ calls: [], isSigned: true });
      expect(JSON.parse(String(answers.shown))).toEqual(response([], usageOf(5, 3), { finishReason }));
    }
  });

  it('have at most so many calls, and none of other arguments than objects', () => {
    const many = Array.from({ length: 129 }, () => callOf('own_a'));
    expect(() => new ContentToolAnswers(isOwn).add(response(many))).toThrow('too many calls');
    const odd = [{ functionCall: { name: 'own_a', args: [1] } }, { functionCall: { name: 'own_a' } }];
    const calls = new ContentToolAnswers(isOwn).add(response(odd))?.calls;
    expect(calls?.map(({ argumentsJson }) => argumentsJson)).toEqual([null, '{}']);
  });
});

describe('streamed answers of a turn with tools', () => {
  /** The frames for the client; `last`: those that it gets once the run has ended. */
  type Streamed = { shown: Buffer[]; last: Buffer[]; stream: ContentToolStream };
  function streamed(...answers: readonly Buffer[][]): Streamed {
    const shown: Buffer[] = [];
    const sink = {
      write: (frames: readonly Buffer[]) => shown.push(...frames) > 0,
      onDrain: () => undefined,
    };
    const stream = new ContentToolStream(sink, isOwn);
    for (const [index, frames] of answers.entries()) {
      if (index > 0) stream.next();
      for (const frame of frames.slice(0, -1)) stream.write([frame]);
      stream.ended(frames.slice(-1));
    }
    stream.finish();
    const last = stream.endFrames();
    return { shown: [...shown, ...last], last, stream };
  }

  const finishes = (frames: readonly Buffer[]): unknown[] =>
    frames
      .flatMap((frame) => (responseIn(frame)?.['candidates'] ?? []) as Fields[])
      .map(({ finishReason }) => finishReason)
      .filter((reason) => reason !== undefined);

  it('are one stream, without calls of the gateway, with one end and the usage of all', () => {
    const { shown, last } = streamed(
      framesFor(response([thought, said('Let me see.'), callOf('own_a', { q: 1 }, signed)])),
      framesFor(response([said('It is 4.'), callOf('theirs', { n: 4 })])),
    );
    expect(last).toHaveLength(1);
    expect(finishes(shown)).toEqual(['STOP']);
    expect(built(shown)).toEqual(
      response([thought, said('Let me see.It is 4.'), callOf('theirs', { n: 4 })], usageOf(10, 6)),
    );
  });

  it('show the text beside a call in a last frame, once, and usage that grows', () => {
    const both = frameOf(response([said('First. '), callOf('own_a')], usageOf(5, 3)));
    const usage = frameOf({ usageMetadata: usageOf(5, 4) });
    const { shown } = streamed([both, usage], [frameOf(response([said('Second.')], usageOf(6, 2)))]);
    expect(finishes(shown)).toEqual(['STOP']);
    expect(shown.map((frame) => responseIn(frame)?.['usageMetadata'])).toEqual([
      usageOf(5, 4),
      usageOf(11, 6),
    ]);
    expect(built(shown)).toMatchObject({
      candidates: [{ content: { parts: [said('First. Second.')] } }],
    });
  });

  it('hold no more than one frame that says nothing behind a call of the gateway', () => {
    const end = frameOf(response([callOf('own_a')], usageOf(5, 3), { finishReason: 'MAX_TOKENS' }));
    const usage = Array.from({ length: 1_000 }, (_none, index) =>
      frameOf({ usageMetadata: usageOf(5, index) }),
    );
    const { shown } = streamed([end, ...usage]);
    expect(shown.map((frame) => responseIn(frame))).toEqual([
      response([], usageOf(5, 999), { finishReason: 'MAX_TOKENS' }),
    ]);
  });

  it('of one call without tools of the gateway stay byte for byte', () => {
    const frames = framesFor(response([thought, said('x'), callOf('theirs', { a: 1 }, signed)]), 1);
    const odd = Buffer.from('data: {"candidates":[{"content":{"parts":[{"text":"a"}]}, "n":1.0}]}\r\n\r\n');
    const more = [odd, Buffer.from(': hm\n\n'), ...frames, frameOf({ usageMetadata: usageOf(5, 3) })];
    const { shown, last } = streamed(more);
    expect(Buffer.concat(shown)).toEqual(Buffer.concat(more));
    expect(last).toEqual(more.slice(-1));
  });

  it('ask for no call if they broke off', () => {
    const broken = response([callOf('own_a')], usageOf(5, 3), { finishReason: 'MAX_TOKENS' });
    const { shown, stream } = streamed(framesFor(broken));
    expect(stream.message.calls).toEqual([]);
    expect(finishes(shown)).toEqual(['MAX_TOKENS']);
  });

  it('give the calls to be made', () => {
    const { stream } = streamed(framesFor(response([callOf('own_a', { q: [1, 'é'] }, signed)])));
    expect(stream.message.calls).toEqual([
      { id: '', name: 'own_a', argumentsText: '{"q":[1,"é"]}', argumentsJson: '{"q":[1,"é"]}' },
    ]);
    expect(JSON.parse(stream.message.text)).toEqual({
      role: 'model',
      parts: [callOf('own_a', { q: [1, 'é'] }, signed)],
    });
  });

  it('show calls of tools in frames that Google’s SDKs read', () => {
    const event = { type: 'tool.started', id: 'c', name: 'own_a' } as const;
    const frames: Buffer[] = [];
    const sink = { write: (more: readonly Buffer[]) => frames.push(...more) > 0, onDrain: () => undefined };
    new ContentToolStream(sink, isOwn).show(event);
    expect(frames.map((frame) => responseIn(frame))).toEqual([{ 'gatehouse.tool': event }]);
  });
});
