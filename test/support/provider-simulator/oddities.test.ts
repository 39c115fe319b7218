import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { startProviderSimulator } from './simulator.ts';
import type { ProviderSimulator } from './simulator.ts';
import { call, chatBody, contentIn, eventsIn, read, streamBody } from './test-client.ts';
import type { Seen } from './test-client.ts';

let simulator: ProviderSimulator;

beforeAll(async () => {
  simulator = await startProviderSimulator();
});

afterAll(() => simulator.close());

function unary(instructions: object): Promise<Seen> {
  return call(simulator, chatBody('one two three', { x_simulator: instructions }));
}

function stream(instructions: object, fields: object = {}): Promise<Seen> {
  return call(simulator, streamBody(instructions, fields));
}

describe('odd but legal bytes', () => {
  it('are split inside characters and frames, and joined they are the same', async () => {
    const { reads, text } = await stream({ split_utf8: true, content: 'grüße 😀 日本' });
    expect(contentIn(text)).toBe('grüße 😀 日本');
    expect(reads.filter((bytes) => bytes.toString().includes('\ufffd')).length).toBeGreaterThan(5);
    expect(reads.some((bytes) => bytes.toString().startsWith('\n'))).toBe(true);

    const answer = await unary({ split_utf8: true, content: 'é' });
    expect(read(answer.text, 'choices', 0, 'message', 'content')).toBe('é');
    expect(answer.reads.length).toBeGreaterThan(5);
  });

  it('arrive in one read when written at once', async () => {
    const { reads, text } = await stream({ one_write: true, chunks: 20 });
    expect(reads).toHaveLength(1);
    expect(eventsIn(text)).toHaveLength(24);
  });

  it('have a delta of the size asked for', async () => {
    const { text } = await stream({ huge_chunk_bytes: 3_000_000 });
    expect(contentIn(text)).toBe('x'.repeat(3_000_000));
    expect(eventsIn(text)).toHaveLength(5);
  });

  it('mean the same however they are written', async () => {
    const manner = fc.record(
      {
        split_utf8: fc.boolean(),
        one_write: fc.boolean(),
        crlf: fc.boolean(),
        comments: fc.boolean(),
        chunks: fc.integer({ min: 1, max: 9 }),
        usage_in_last_choice_chunk: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(manner, text, async (fault, content) => {
        const seen = await stream({ ...fault, content });
        expect(contentIn(seen.text)).toBe(content);
        expect(eventsIn(seen.text).at(-1)).toBe('[DONE]');
        expect(seen.text.match(/"total_tokens"/g)).toHaveLength(1);
        expect(seen.text.includes('\r\n')).toBe(fault.crlf === true);
        expect(seen.text.includes(': comment')).toBe(fault.comments === true);
      }),
      { numRuns: 40 },
    );
  });
});

describe('usage', () => {
  it('can be left out', async () => {
    expect(read((await unary({ no_usage: true })).text, 'usage')).toBeUndefined();
    expect((await stream({ no_usage: true })).text).not.toContain('total_tokens');
    expect((await stream({ ignore_include_usage: true })).text).not.toContain('usage');
  });

  it('can be set', async () => {
    const usage = { prompt_tokens: 100, completion_tokens: 50, cached_tokens: 80, reasoning_tokens: 40 };
    expect(read((await unary({ usage })).text, 'usage')).toMatchObject({
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 80 },
      completion_tokens_details: { reasoning_tokens: 40 },
    });
  });

  it('can ride in the last choice chunk, asked for or not', async () => {
    const asked = eventsIn((await stream({ usage_in_last_choice_chunk: true })).text);
    const not = eventsIn((await stream({ usage_in_last_choice_chunk: true }, { stream_options: null })).text);
    for (const events of [asked, not]) {
      expect(read(events.at(-2) ?? '', 'choices', 0, 'finish_reason')).toBe('stop');
      expect(read(events.at(-2) ?? '', 'usage', 'total_tokens')).toBeGreaterThan(0);
    }
  });
});

describe('scripted tool calls', () => {
  it('are made as written, until a tool has answered', async () => {
    const tool_calls = [
      { name: 'remember', arguments: { key: 'tea' } },
      { name: 'broken', arguments: '{"a":' },
    ];
    const seen = await unary({ tool_calls });
    expect(read(seen.text, 'choices', 0, 'message', 'tool_calls', 0, 'function', 'arguments')).toBe(
      '{"key":"tea"}',
    );
    expect(read(seen.text, 'choices', 0, 'message', 'tool_calls', 1, 'function', 'arguments')).toBe('{"a":');

    const messages = [{ role: 'tool', tool_call_id: 'c', content: 'done' }];
    const after = await call(simulator, chatBody('', { messages, x_simulator: { tool_calls } }));
    expect(read(after.text, 'choices', 0, 'finish_reason')).toBe('stop');
  });
});

describe('ways of other providers', () => {
  const usageIn = (event: string): unknown => (event === '[DONE]' ? null : read(event, 'usage'));

  it('are usage in a choice, zeros behind it and empty finish reasons', async () => {
    const inChoice = eventsIn((await stream({ usage_in_choice: true, chunks: 1 })).text);
    expect(inChoice.map(usageIn).filter(Boolean)).toEqual([]);
    expect(read(inChoice.at(-2) ?? '', 'choices', 0, 'usage')).toMatchObject({ completion_tokens: 1 });
    const zeros = eventsIn((await stream({ zeros_last: true, chunks: 1 })).text);
    expect(zeros.map(usageIn).filter(Boolean)).toMatchObject([
      { completion_tokens: 1 },
      { completion_tokens: 0 },
    ]);
    const empty = eventsIn((await stream({ empty_finish_reasons: true, chunks: 1 })).text).slice(0, -2);
    expect(empty.map((event) => read(event, 'choices', 0, 'finish_reason'))).toEqual(['', '', 'stop']);
  });

  it('are answers of the other kind', async () => {
    expect(read((await stream({ other_kind: true })).text, 'object')).toBe('chat.completion');
    const events = eventsIn((await unary({ other_kind: true, content: 'Hi.' })).text);
    expect(events.at(-1)).toBe('[DONE]');
    expect(usageIn(events.at(-2) ?? '')).toMatchObject({ completion_tokens: 1 });
  });
});
