import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { ResponseStream } from 'openai/lib/responses/ResponseStream';
import { FrameSplitter } from '../wire/sse-frames.ts';
import { EventReader } from './event-reader.ts';
import { eventOf } from './events.ts';
import { ResponseBuilder, streamFrames } from './response-mode.ts';
import { ResponseToolAnswers, ResponseToolStream } from './tool-stream.ts';
import { readWhole } from './whole-answer.ts';

type Fields = Record<string, unknown>;

const usageOf = (input: number, cached: number, output: number, reasoning: number): Fields => ({
  ...{ input_tokens: input, input_tokens_details: { cached_tokens: cached }, output_tokens: output },
  ...{ output_tokens_details: { reasoning_tokens: reasoning }, total_tokens: input + output },
});
const response = (output: readonly Fields[], fields: Fields = {}): Fields => ({
  ...{ id: 'resp_1', object: 'response', created_at: 7, status: 'completed', error: null, model: 'gpt-x' },
  ...{ store: false, tools: [], output, usage: usageOf(5, 1, 3, 2), ...fields },
});
const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const said = (text: string, id = 'msg_1'): Fields => ({
  ...{ id, type: 'message', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
});
const thought = (id = 'rs_1'): Fields => ({
  ...{ id, type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'enc' },
});
const callOf = (name: string, call_id: string, args = '{}'): Fields => ({
  ...{ id: `fc_${call_id}`, type: 'function_call', status: 'completed', call_id, name, arguments: args },
});
const isOwn = (name: string): boolean => name.startsWith('own');

function built(frames: readonly Buffer[]): Fields {
  const builder = new ResponseBuilder();
  for (const frame of frames) builder.add(frame);
  return JSON.parse(String(builder.built)) as Fields;
}

/** The same without the output in the last event, so that it comes of the pieces. */
function ofPieces(frames: readonly Buffer[]): Fields {
  const last = frames.at(-1) ?? Buffer.alloc(0);
  const { type, fields } = eventOf(last) ?? { type: '', fields: {} };
  const bare = { ...fields, response: { ...(fields['response'] as Fields), output: [] } };
  return built([...frames.slice(0, -1), Buffer.from(`event: ${type}\ndata: ${JSON.stringify(bare)}\n\n`)]);
}

/** The response that OpenAI's SDK puts together. */
function readBySdk(frames: readonly Buffer[]): Promise<unknown> {
  // The SDK's own form of a stream: the data of each event in a line.
  const lines = frames.map((frame) => `${JSON.stringify(eventOf(frame)?.fields)}\n`).join('');
  return ResponseStream.fromReadableStream(new Blob([lines]).stream()).finalResponse();
}

const text = fc.string({ maxLength: 20 });
const part = fc.oneof(
  text.map((own) => ({ type: 'output_text', text: own, annotations: [], logprobs: [] })),
  text.map((refusal) => ({ type: 'refusal', refusal })),
);
const call = {
  id: fc.uuid(),
  call_id: fc.uuid(),
  name: fc.constantFrom('a', 'b'),
  status: fc.constant('completed'),
};
const item = fc.oneof(
  fc.record({
    ...{ id: fc.uuid(), type: fc.constant('message'), role: fc.constant('assistant') },
    ...{ status: fc.constant('completed'), content: fc.array(part, { maxLength: 3 }) },
  }),
  fc.record({
    ...{ id: fc.uuid(), type: fc.constant('reasoning'), encrypted_content: fc.base64String() },
    summary: fc.array(
      text.map((own) => ({ type: 'summary_text', text: own })),
      { maxLength: 2 },
    ),
  }),
  fc.record({ ...call, type: fc.constant('function_call'), arguments: fc.json() }),
  fc.record({ ...call, type: fc.constant('custom_tool_call'), input: text }),
  fc.record({ id: fc.uuid(), type: fc.constant('newer_call'), value: fc.jsonValue({ maxDepth: 1 }) }),
);

describe('a response in the other mode', () => {
  it('means the same as frames and as a whole', () => {
    fc.assert(
      fc.property(fc.array(item, { maxLength: 6 }), (output) => {
        const whole = JSON.parse(JSON.stringify(response(output))) as Fields;
        const frames = streamFrames(bytesOf(whole));
        expect(built(frames)).toEqual(whole);
        expect(ofPieces(frames)).toEqual(whole);
        const unfinished = frames.filter((frame) => eventOf(frame)?.type !== 'response.output_item.done');
        const texts = (made: Fields): unknown[] =>
          (made['output'] as Fields[]).map(({ content, arguments: given, input, summary }) => [
            ...[content, given, input, summary].map((own) => own ?? null),
          ]);
        const inPieces = (ofPieces(unfinished)['output'] as Fields[]).map((own) => own['id']);
        expect(inPieces).toEqual(output.map(({ id }) => id));
        // Deltas have neither annotations nor probabilities.
        const plain = (made: unknown): string =>
          JSON.stringify(made).replaceAll(/,"(?:annotations|logprobs)":\[\]/g, '');
        expect(plain(texts(ofPieces(unfinished)))).toBe(plain(texts(whole)));
      }),
    );
  });

  it('means the same to OpenAI’s SDK', async () => {
    const output = [thought(), said('Größe 東京'), callOf('a', 't1', '{"q":"é"}')];
    const read = await readBySdk(streamFrames(bytesOf(response(output))));
    expect(read).toMatchObject({ id: 'resp_1', output, output_text: 'Größe 東京' });
  });

  it('means the same wherever a stream is cut into pieces', () => {
    const whole = response([thought(), said('Größe 東京'), callOf('a', 't1', '{"q":"é"}')]);
    const bytes = Buffer.concat(streamFrames(bytesOf(whole)));
    for (let at = 1; at < bytes.length; at += 1) {
      const splitter = new FrameSplitter();
      const frames = [...splitter.push(bytes.subarray(0, at)), ...splitter.push(bytes.subarray(at))];
      if (JSON.stringify(built(frames)) !== JSON.stringify(whole)) throw new Error(`cut at ${at}`);
    }
  });

  it('that broke off has its output and an error', async () => {
    const frames = streamFrames(bytesOf(response([said('some')]))).slice(0, 5);
    const answer = built(frames);
    expect(answer).toMatchObject({
      ...{ output: [{ content: [{ text: 'some' }] }], status: 'failed' },
      error: { message: 'The stream ended early.' },
    });
    expect(await readWhole(bytesOf(answer), { tenantId: null })).toMatchObject({
      ...{ broken: {}, answer: { beginning: 'some' } },
    });
  });

  it('that failed is a failure in both, with the words that are for the client', () => {
    const failed = response([said('some')], {
      status: 'failed',
      error: { code: 'server_error', message: 'org-1' },
    });
    const frames = streamFrames(bytesOf(failed));
    expect(frames.map((frame) => eventOf(frame)?.type).slice(-2)).toEqual([
      ...['response.output_item.done', 'response.failed'],
    ]);
    expect(built(frames)).toMatchObject({
      ...{ status: 'failed', output: [said('some')], error: { message: 'The provider failed.', code: null } },
    });
    const error = (type: string): Buffer[] => streamFrames(bytesOf({ error: { type, message: 'Words' } }));
    expect(built(error('rate_limit_error'))).toEqual({
      error: { message: 'The provider failed.', code: 429 },
    });
    expect(built(error('invalid_request_error'))).toEqual({ error: { message: 'Words', code: 400 } });
    expect(() => streamFrames(bytesOf({}))).toThrow('no output');
    expect(() => streamFrames(bytesOf([]))).toThrow('not an object');
  });
});

describe('whole answers of a turn with tools', () => {
  it('go back whole and in order, and show the last with the usage of all and without calls of the gateway', () => {
    const answers = new ResponseToolAnswers(isOwn);
    const first = answers.add(response([thought(), callOf('own_a', 't1', '{"q":1}'), callOf('own_b', 't1')]));
    const known = first?.identified(new Set());
    const [one, other] = known?.calls ?? [];
    expect([one?.id, one?.argumentsJson]).toEqual(['t1', '{"q":1}']);
    expect(other?.id).toMatch(/^call_\w{32}$/);
    expect(JSON.parse(`[${known?.text ?? ''}]`)).toEqual([
      ...[thought(), callOf('own_a', 't1', '{"q":1}')],
      { ...callOf('own_b', 't1'), call_id: other?.id },
    ]);
    expect(known?.resultTexts(['r1', 'r2']).map((own) => JSON.parse(own) as unknown)).toEqual([
      { type: 'function_call_output', call_id: 't1', output: 'r1' },
      { type: 'function_call_output', call_id: other?.id, output: 'r2' },
    ]);
    answers.add(response([said('done'), callOf('own_a', 't2')]));
    expect(JSON.parse(String(answers.shown))).toEqual(
      response([said('done')], { usage: usageOf(10, 2, 6, 4) }),
    );
  });

  it('go back without thoughts that say nothing, which the provider would look for', () => {
    const empty = { ...thought(), encrypted_content: null };
    const plain = { ...empty, content: [{ type: 'reasoning_text', text: 'hm' }] };
    const known = new ResponseToolAnswers(isOwn).add(response([empty, plain, callOf('own_a', 't')]));
    expect(JSON.parse(`[${known?.text ?? ''}]`)).toEqual([plain, callOf('own_a', 't')]);
  });

  it('that broke off ask for no call of a tool', () => {
    const answers = new ResponseToolAnswers(isOwn);
    const cut = response([callOf('own_a', 't'), said('x')], { status: 'incomplete' });
    expect(answers.add(cut)?.calls).toEqual([]);
    expect(JSON.parse(String(answers.shown))).toEqual({ ...cut, output: [said('x')] });
  });

  it('say whether they have thoughts that go back to their vendor alone', () => {
    const isSigned = (item: Fields): unknown =>
      new ResponseToolAnswers(isOwn).add(response([item]))?.isSigned;
    expect([thought(), said('x'), { ...thought(), encrypted_content: null }].map(isSigned)).toEqual([
      ...[true, false, false],
    ]);
  });

  it('have usage of few names, whatever a server sends', () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_none, index) => [`n${index}`, 1]));
    const answers = new ResponseToolAnswers(isOwn);
    for (const text of ['a', 'b'])
      answers.add(response([said(text)], { usage: { ...usageOf(5, 1, 3, 2), ...many, x: 'x' } }));
    const { usage } = JSON.parse(String(answers.shown)) as { usage: Fields };
    expect(usage).toMatchObject(usageOf(10, 2, 6, 4));
    expect(Object.keys(usage)).toHaveLength(64);
  });

  it('stay as they are without a call of the gateway', () => {
    const answers = new ResponseToolAnswers(isOwn);
    answers.add(response([callOf('theirs', 't1')]));
    expect(answers.shown).toBeNull();
  });

  it.each<Fields>([
    { ...callOf('own_a', 't'), namespace: 'functions' },
    { type: 'custom_tool_call', call_id: 't', name: 'own_a', input: 'x' },
    { type: 'local_shell_call', call_id: 't', action: {} },
    { type: 'mcp_approval_request', id: 't', name: 'own_a' },
  ])('have calls that are for the client: %j', (theirs) => {
    const answers = new ResponseToolAnswers(isOwn);
    const calls = answers.add(response([theirs]))?.calls ?? [];
    expect(calls.map(({ name }) => isOwn(name))).toEqual([false]);
    expect(answers.shown).toBeNull();
  });
});

describe('streamed answers of a turn with tools', () => {
  function streamed(...answers: readonly Fields[]): { shown: Buffer[]; stream: ResponseToolStream } {
    return passed(answers.map((answer) => streamFrames(bytesOf(answer))));
  }

  function passed(answers: readonly (readonly Buffer[])[]): { shown: Buffer[]; stream: ResponseToolStream } {
    const shown: Buffer[] = [];
    const sink = {
      write: (frames: readonly Buffer[]) => shown.push(...frames) > 0,
      onDrain: () => undefined,
    };
    const stream = new ResponseToolStream(sink, isOwn);
    for (const [index, answer] of answers.entries()) {
      if (index > 0) stream.next();
      const reader = new EventReader();
      for (const frame of answer.filter((each) => reader.read(each) === 'chunk')) stream.write([frame]);
      stream.ended(reader.endFrames());
    }
    stream.finish();
    return { shown: [...shown, ...stream.endFrames()], stream };
  }

  const typesOf = (frames: readonly Buffer[]): unknown[] => frames.map((frame) => eventOf(frame)?.type);
  const numbersOf = (frames: readonly Buffer[]): unknown[] =>
    frames.map((frame) => eventOf(frame)?.fields['sequence_number']);

  it('are one response, without calls of the gateway and with the usage of all', async () => {
    const { shown } = streamed(
      response([thought(), said('Let me see.'), callOf('own_a', 't1', '{"q":1}')]),
      response([thought('rs_2'), said('It is 4.', 'msg_2'), callOf('theirs', 't2', '{"n":4}')], {
        ...{ id: 'resp_2', created_at: 9 },
      }),
    );
    const heads = typesOf(shown).filter(
      (type) => type === 'response.created' || type === 'response.in_progress',
    );
    expect(heads).toEqual(['response.created', 'response.in_progress']);
    const output = [
      ...[thought(), said('Let me see.'), thought('rs_2'), said('It is 4.', 'msg_2')],
      callOf('theirs', 't2', '{"n":4}'),
    ];
    const expected = response(output, { usage: usageOf(10, 2, 6, 4) });
    expect(built(shown)).toEqual(expected);
    expect(ofPieces(shown)).toEqual(expected);
    expect(await readBySdk(shown)).toMatchObject({ ...expected, output_text: 'Let me see.It is 4.' });
    expect(numbersOf(shown)).toEqual(shown.map((_frame, index) => index));
    const places = shown.map((frame) => eventOf(frame)?.fields['output_index']);
    expect([...new Set(places.filter((place) => place !== undefined))]).toEqual([0, 1, 2, 3, 4]);
  });

  it('have items with ids of their own, though the provider repeats some', async () => {
    const { shown } = streamed(
      response([said('one'), callOf('own_a', 't1')]),
      response([said('two'), callOf('theirs', 't2')]),
    );
    const { output } = built(shown) as { output: Fields[] };
    expect(output.map(({ id }) => id)).toEqual(['msg_1', expect.stringMatching(/^msg_1_\w{32}$/), 'fc_t2']);
    expect(await readBySdk(shown)).toMatchObject({ output_text: 'onetwo' });
  });

  it('leave a call of the gateway out of the last answer', () => {
    const { shown } = streamed(response([callOf('own_a', 't'), said('x')]));
    expect(built(shown)).toEqual(response([said('x')]));
    expect(numbersOf(shown)).toEqual(shown.map((_frame, index) => index));
  });

  it('of one call without tools of the gateway stay byte for byte', () => {
    const whole = response([thought(), said('x'), callOf('theirs', 't', '{"a":1}')]);
    const frames = streamFrames(bytesOf(whole));
    expect(Buffer.concat(passed([frames]).shown)).toEqual(Buffer.concat(frames));
  });

  it('give the calls to be made, with arguments in pieces', () => {
    const { stream } = streamed(response([callOf('own_a', 't1', '{"q":[1,"é"]}')]));
    expect(stream.message.calls).toEqual([
      { id: 't1', name: 'own_a', argumentsText: '{"q":[1,"é"]}', argumentsJson: '{"q":[1,"é"]}' },
    ]);
  });

  it('are bounded in their items and texts, those of earlier answers included', () => {
    const [created = Buffer.alloc(0), , added = Buffer.alloc(0), ...others] = streamFrames(
      bytesOf(response([said('x')])),
    );
    const many = Array.from({ length: 5_000 }, (_none, index) =>
      Buffer.from(String(added).replace('"output_index":0', `"output_index":${index}`)),
    );
    expect(() => passed([[created, ...many]])).toThrow('too many items');
    const long = 'x'.repeat(7 * 2 ** 20);
    const half = [
      created,
      added,
      ...others.map((frame) => Buffer.from(String(frame).replace('"delta":"x"', `"delta":"${long}"`))),
    ];
    expect(() => passed([half, half])).not.toThrow();
    expect(() => passed([half, half, half])).toThrow('too large');
  });

  it('that broke off ask for no call of a tool, and end as they did', () => {
    const cut = response([said('x'), callOf('own_a', 't')], { status: 'incomplete' });
    const { stream, shown } = streamed(cut);
    expect(stream.message.calls).toEqual([]);
    expect(eventOf(shown.at(-1) ?? Buffer.alloc(0))).toMatchObject({
      ...{ type: 'response.incomplete', fields: { response: { ...cut, output: [said('x')] } } },
    });
  });

  it('give calls that come in the last event alone', () => {
    const frames = streamFrames(bytesOf(response([callOf('own_a', 't1')])));
    const { stream, shown } = passed([[...frames.slice(0, 2), ...frames.slice(-1)]]);
    expect(stream.message.calls.map(({ name }) => name)).toEqual(['own_a']);
    expect(built(shown)['output']).toEqual([]);
  });

  it('keep the numbers of a server that begins with 1, and have none where it has none', () => {
    const frames = streamFrames(bytesOf(response([said('x'), callOf('own_a', 't')])));
    const numbered = (frame: Buffer, text: (number: number) => string): Buffer =>
      Buffer.from(
        String(frame).replace(/,"sequence_number":(\d+)\}/, (_all, number) => text(Number(number))),
      );
    const fromOne = passed([
      frames.map((frame) => numbered(frame, (own) => `,"sequence_number":${own + 1}}`)),
    ]);
    expect(numbersOf(fromOne.shown)).toEqual(fromOne.shown.map((_frame, index) => index + 1));
    const bare = passed([frames.map((frame) => numbered(frame, () => '}'))]);
    expect(new Set(numbersOf(bare.shown))).toEqual(new Set([undefined]));
  });
});
