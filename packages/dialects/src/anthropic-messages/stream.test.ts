import { describe, expect, it } from '@jest/globals';
import { latestReport } from '../usage/reported-usage.ts';
import { EventReader } from './stream.ts';

const frame = (fields: { type: string } & Record<string, unknown>): Buffer =>
  Buffer.from(`event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`);
const start = (usage: object = { input_tokens: 10, output_tokens: 1 }): Buffer =>
  frame({
    type: 'message_start',
    message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x', content: [], usage },
  });
const text = (piece: string): Buffer =>
  frame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: piece } });
const end = (usage: object = { output_tokens: 7 }): Buffer =>
  frame({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage });
const stop = Buffer.from('event: message_stop\ndata: {"type":"message_stop", "own":1}\n\n');

function reading(...frames: readonly Buffer[]): { reader: EventReader; kinds: string[] } {
  const reader = new EventReader(true);
  return { reader, kinds: frames.map((each) => reader.read(each)) };
}

describe('a stream of events', () => {
  it('is read on its way, and ends with the bytes of the provider', () => {
    const open = frame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
    const { reader, kinds } = reading(start(), open, text('Hello'), text(' you'), end(), stop);
    expect(kinds).toEqual(['chunk', 'chunk', 'chunk', 'chunk', 'chunk', 'done']);
    expect(reader).toMatchObject({
      ...{ begun: true, complete: true, responseModel: 'claude-x', keptText: 'Hello you', error: null },
      usage: { inputTokens: 10, outputTokens: 7, estimated: false },
    });
    expect(reader.answer).toEqual({ beginning: 'Hello you', chars: 9 });
    expect(reader.endFrames()).toEqual([stop]);
  });

  it('begins with its first block, so that until then another provider can answer', () => {
    const { reader, kinds } = reading(start(), frame({ type: 'ping' }));
    expect([reader.begun, ...kinds]).toEqual([false, 'chunk', 'chunk']);
    expect(reading(start(), end()).reader.begun).toBe(true);
  });

  it('counts thoughts and inputs of tools as its answer, and keeps what is said', () => {
    const block = (content_block: object): Buffer =>
      frame({ type: 'content_block_start', index: 0, content_block });
    const delta = (fields: object): Buffer => frame({ type: 'content_block_delta', index: 0, delta: fields });
    const { reader } = reading(
      block({ type: 'thinking', thinking: '', signature: '' }),
      delta({ type: 'thinking_delta', thinking: 'hm' }),
      delta({ type: 'signature_delta', signature: 'c2ln' }),
      block({ type: 'tool_use', id: 't', name: 'search', input: {} }),
      delta({ type: 'input_json_delta', partial_json: '{"q":1}' }),
      text('said'),
    );
    expect(reader.answer.beginning).toBe('hmsearch{}{"q":1}said');
    expect(reader.keptText).toBe('said');
  });

  it.each([
    ['Anthropic', { input_tokens: 3, cache_read_input_tokens: 5, output_tokens: 1 }, { output_tokens: 9 }],
    [
      'servers that report all at the end',
      { input_tokens: 0, output_tokens: 0 },
      { input_tokens: 3, cache_read_input_tokens: 5, output_tokens: 9 },
    ],
    [
      'servers that report zeros at the end',
      { input_tokens: 3, cache_read_input_tokens: 5 },
      { input_tokens: 0, cache_read_input_tokens: null, output_tokens: 9 },
    ],
  ])('has the usage of %s', (_who, first, last) => {
    expect(reading(start(first), end(last)).reader.usage).toMatchObject({
      ...{ inputTokens: 8, cachedInputTokens: 5, outputTokens: 9 },
    });
  });

  it('keeps the hour of cache writes beside zeros, and no more names than a usage has', () => {
    const writes = { cache_creation_input_tokens: 5, cache_creation: { ephemeral_1h_input_tokens: 5 } };
    const zeros = { output_tokens: 2, cache_creation: { ephemeral_1h_input_tokens: 0 } };
    expect(reading(start({ input_tokens: 1, ...writes }), end(zeros)).reader.usage).toMatchObject({
      ...{ inputTokens: 6, cacheWriteTokens: 5, parts: { cacheWrite1h: 5 } },
    });
    const names = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`n${n}`, 'x'.repeat(10)]));
    const first = Object.keys(latestReport({ input_tokens: 1 }, { ...names, long: 'x'.repeat(1_000) }));
    expect(first).toHaveLength(64);
  });

  it('that was cut has the input that was reported, and no output', () => {
    const { reader } = reading(start(), text('some'));
    expect(reader).toMatchObject({ complete: false, usage: { inputTokens: 10, outputTokens: 0 } });
  });

  it.each([
    [{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, 529],
    [{ type: 'error', error: { type: 'rate_limit_error', message: 'org-1 waits' } }, 429],
    [{ type: 'error', error: { type: 'invalid_request_error', message: 'no' } }, 400],
  ])('fails with the error %j', (fields, status) => {
    const { reader, kinds } = reading(start(), frame(fields));
    expect([kinds[1], reader.error?.status]).toEqual(['error', status]);
    // The words of others may name the account of the platform.
    expect(reader.error?.message).toBe(status === 400 ? 'no' : undefined);
  });

  it.each(['newer_event', 'message_error', 'content_block_error', 'ping'])(
    'fails with an error in the event %s',
    (type) => {
      const { reader, kinds } = reading(start(), frame({ type, error: { code: 400, message: 'no' } }));
      expect([kinds[1], reader.error?.message]).toEqual(['error', 'no']);
    },
  );

  it('passes comments and events that it does not know, and none that is no event', () => {
    const { kinds } = reading(
      Buffer.from(': hm\n\n'),
      frame({ type: 'newer_event' }),
      Buffer.from('data: {"a":1}\n\n'),
    );
    expect(kinds).toEqual(['other', 'chunk', 'foreign']);
    expect(() => reading(Buffer.from('data: {"type":\n\n'))).toThrow(SyntaxError);
    expect(() => reading(Buffer.from('data: [1]\n\n'))).not.toThrow(TypeError);
  });

  it('takes the name of an event where its data lacks the type', () => {
    expect(reading(Buffer.from('event: message_stop\ndata: {}\n\n')).kinds).toEqual(['done']);
  });

  it('without an end of its own gets one', () => {
    expect(String(reading(start(), end()).reader.endFrames())).toBe(
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    );
  });
});
