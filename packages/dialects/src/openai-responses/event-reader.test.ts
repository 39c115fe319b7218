import { describe, expect, it } from '@jest/globals';
import { facts } from '@gatehouse/test/translation-samples';
import { EventReader } from './event-reader.ts';
import { ResponseSource } from './event-source.ts';
import { ResponseBuilder } from './response-mode.ts';

type Fields = Record<string, unknown>;

const frame = (fields: Fields & { type: string }): Buffer =>
  Buffer.from(`event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`);
const response = (fields: Fields = {}): Fields => ({
  ...{ id: 'resp_1', object: 'response', status: 'in_progress', model: 'gpt-x', output: [], usage: null },
  ...fields,
});
const created = (fields: Fields = {}): Buffer =>
  frame({ type: 'response.created', response: response(fields) });
const message = (text: string): Fields => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant' },
  content: [{ type: 'output_text', text, annotations: [] }],
});
const added = (item: Fields, output_index = 0): Buffer =>
  frame({ type: 'response.output_item.added', output_index, item });
const done = (item: Fields, output_index = 0): Buffer =>
  frame({ type: 'response.output_item.done', output_index, item });
const delta = (type: string, piece: string, output_index = 0): Buffer =>
  frame({ type: `response.${type}.delta`, output_index, item_id: 'x', content_index: 0, delta: piece });
const text = (piece: string): Buffer => delta('output_text', piece);
const usage = {
  ...{ input_tokens: 10, input_tokens_details: { cached_tokens: 4 }, output_tokens: 7, total_tokens: 17 },
  output_tokens_details: { reasoning_tokens: 3 },
};
const end = (fields: Fields = {}, type = 'response.completed'): Buffer =>
  frame({ type, response: response({ status: 'completed', usage, ...fields }) });

function reading(...frames: readonly Buffer[]): { reader: EventReader; kinds: string[] } {
  const reader = new EventReader(true);
  return { reader, kinds: frames.map((each) => reader.read(each)) };
}

describe('a stream of events', () => {
  it('is read on its way, and ends with the bytes of the provider', () => {
    const open = added({ ...message(''), content: [] });
    const last = end({ output: [message('Hello you')], service_tier: 'flex' });
    const { reader, kinds } = reading(
      created(),
      open,
      text('Hello'),
      text(' you'),
      done(message('Hello you')),
      last,
    );
    expect(kinds).toEqual(['chunk', 'chunk', 'chunk', 'chunk', 'chunk', 'done']);
    expect(reader).toMatchObject({
      ...{ begun: true, complete: true, responseModel: 'gpt-x', keptText: 'Hello you', error: null },
      ...{ serviceTier: 'flex' },
      usage: { inputTokens: 10, cachedInputTokens: 4, outputTokens: 7, reasoningTokens: 3, estimated: false },
    });
    expect(reader.answer).toEqual({ beginning: 'Hello you', chars: 9 });
    expect(reader.endFrames()).toEqual([last]);
  });

  it('begins with its first item, so that until then another provider can answer', () => {
    const inProgress = frame({ type: 'response.in_progress', response: response() });
    const { reader, kinds } = reading(
      created(),
      inProgress,
      frame({ type: 'keepalive', sequence_number: 3 }),
    );
    expect([reader.begun, ...kinds]).toEqual([false, 'chunk', 'chunk', 'chunk']);
    expect(reading(created(), added(message(''))).reader.begun).toBe(true);
    expect(reading(created(), end()).reader.begun).toBe(true);
  });

  it('begins at once where its head is too large to be held', () => {
    const large = created({ instructions: 'x'.repeat(40_000) });
    expect(reading(large).reader.begun).toBe(false);
    expect(reading(large, large).reader.begun).toBe(true);
  });

  it('counts thoughts and calls of tools as its answer, and keeps what is said', () => {
    const { reader } = reading(
      added({ type: 'reasoning', summary: [] }),
      delta('reasoning_summary_text', 'hm'),
      done({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'xxxx' }),
      added({ type: 'function_call', name: 'search', arguments: '' }, 1),
      delta('function_call_arguments', '{"q":1}', 1),
      added(message(''), 2),
      delta('output_text', 'said', 2),
    );
    expect(reader.answer.beginning).toBe('hmsearch{"q":1}said');
    expect(reader.keptText).toBe('said');
  });

  it('that calls tools is not yet the answer that is kept', () => {
    const call = { type: 'custom_tool_call', call_id: 'c', name: 'exec', input: 'ls' };
    const { reader } = reading(text('Let me see.'), added({ ...call, input: '' }, 1), done(call, 1));
    expect([reader.keptText, reader.answer.beginning]).toEqual(['', 'Let me see.execls']);
  });

  it.each([
    ['as whole items', [created(), added(message('')), done(message('All of it.')), end()]],
    ['in its last event', [created(), end({ output: [message('All of it.')] })]],
    [
      'in pieces, and again',
      [text('All of it.'), done(message('All of it.')), end({ output: [message('All of it.')] })],
    ],
  ])('has the text that comes %s once', (_how, frames) => {
    const { reader } = reading(...frames);
    expect([reader.answer.beginning, reader.keptText]).toEqual(['All of it.', 'All of it.']);
  });

  it('that was cut has no end, and the usage that was reported', () => {
    const { reader } = reading(created({ usage: { input_tokens: 3, output_tokens: 0 } }), text('some'));
    expect(reader).toMatchObject({ complete: false, usage: { inputTokens: 3, outputTokens: 0 } });
    expect(reader.endFrames()).toEqual([]);
  });

  it.each<[Fields & { type: string }, number | undefined, string | undefined]>([
    [{ type: 'error', code: 'rate_limit_exceeded', message: 'Slow down', param: null }, 429, undefined],
    [{ type: 'error', error: { type: 'invalid_request_error', message: 'no' } }, 400, 'no'],
    [{ type: 'error', code: 'server_error', message: 'no' }, undefined, undefined],
    [{ type: 'error', code: 'context_length_exceeded', message: 'long' }, 400, 'long'],
    [
      {
        type: 'response.failed',
        response: response({ error: { code: 'server_error', message: 'no' }, usage }),
      },
      ...([undefined, undefined] as const),
    ],
    [{ type: '', error: { message: 'of a relay', code: 503 } }, 503, undefined],
  ])('fails with %j', (fields, status, words) => {
    const { reader, kinds } = reading(created(), frame(fields));
    expect([kinds[1], reader.error?.status, reader.error?.message]).toEqual(['error', status, words]);
    expect(reader.complete).toBe(false);
    if (fields.type === 'response.failed') expect(reader.usage).toMatchObject({ outputTokens: 7 });
  });

  const tooLong = { code: 'context_length_exceeded', message: 'long' };
  it.each(['response.error', 'response.newer', 'newer', ''])(
    'fails with an error in an event %j without an index, read, translated or built',
    (type) => {
      const lost = frame({ type, error: tooLong });
      const { reader, kinds } = reading(created(), lost, Buffer.from('data: [DONE]\n\n'));
      expect([kinds[1], reader.error]).toMatchObject(['error', tooLong]);
      const source = new ResponseSource(facts);
      expect([created(), lost].flatMap((each) => source.read(each)).at(-1)).toMatchObject({
        type: 'error',
        error: tooLong,
      });
      const builder = new ResponseBuilder();
      for (const each of [created(), lost]) builder.add(each);
      expect(JSON.parse(String(builder.built))).toMatchObject({
        status: 'failed',
        error: { message: 'long' },
      });
    },
  );

  it.each(['', 'newer.delta'])('counts a delta of an item in an event %j', (type) => {
    const { reader, kinds } = reading(frame({ type, output_index: 0, delta: 'Hi' }));
    expect([...kinds, reader.begun, reader.answer.beginning]).toEqual(['chunk', false, 'Hi']);
  });

  it('counts calls of its provider that have begun, if it was cut, and each once', () => {
    const search = { type: 'web_search_call', id: 'ws_1', status: 'in_progress' };
    const code = { type: 'code_interpreter_call', id: 'ci_1', code: 'x' };
    const frames = [created(), added(search), added(code, 1), delta('code_interpreter_call_code', 'x', 1)];
    const cut = reading(...frames).reader;
    expect(cut.usage?.toolCalls).toEqual({ web_search: 1, code_interpreter: 1 });

    const opened = { ...search, status: 'completed', action: { type: 'open_page', url: 'x' } };
    const ended = [done(opened), done(code, 1), end({ output: [opened, code] })];
    const { reader } = reading(...frames, ...ended);
    expect(reader.usage?.toolCalls).toEqual({ code_interpreter: 1 });
  });

  it('ends incomplete as well', () => {
    const last = end({ status: 'incomplete' }, 'response.incomplete');
    const { reader, kinds } = reading(created(), text('x'), last);
    expect([kinds[2], reader.complete, reader.endFrames()]).toEqual(['done', true, [last]]);
  });

  it('passes comments and events that it does not know, and none that is no event', () => {
    const { kinds } = reading(
      Buffer.from(': hm\n\n'),
      frame({ type: 'response.newer', output_index: 0 }),
      frame({ type: 'codex.rate_limits' }),
      Buffer.from('data: {"a":1}\n\n'),
      Buffer.from('data: [DONE]\n\n'),
    );
    expect(kinds).toEqual(['other', 'chunk', 'chunk', 'foreign', 'foreign']);
    expect(() => reading(Buffer.from('data: {"type":\n\n'))).toThrow(SyntaxError);
    expect(() => reading(Buffer.from('data: [1]\n\n'))).toThrow('not an object');
  });

  it('takes the name of an event where its data lacks the type', () => {
    expect(reading(Buffer.from('event: response.completed\ndata: {"response":{}}\n\n')).kinds).toEqual([
      'done',
    ]);
  });

  it('is bounded in its items', () => {
    const reader = new EventReader();
    const all = (): void => {
      for (let index = 0; index < 5_000; index += 1) reader.read(delta('output_text', '', index));
    };
    expect(all).toThrow('too many items');
  });
});
