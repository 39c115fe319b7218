import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { startProviderSimulator } from '../simulator.ts';
import type { ProviderSimulator } from '../simulator.ts';
import { read } from '../test-client.ts';
import type { CallOptions, Seen } from '../test-client.ts';
import { callMessages, deltasIn, messagesBody, namedEventsIn } from './messages-test-client.ts';

let simulator: ProviderSimulator;

beforeAll(async () => {
  simulator = await startProviderSimulator();
});

afterAll(() => simulator.close());

function unary(instructions: object): Promise<Seen> {
  return callMessages(simulator, messagesBody('one two three', { x_simulator: instructions }));
}

function stream(instructions: object, options: CallOptions = {}): Promise<Seen> {
  const body = messagesBody('one two three', { stream: true, x_simulator: instructions });
  return callMessages(simulator, body, options);
}

function namesIn({ text }: Seen): (string | null)[] {
  return namedEventsIn(text).map(({ event }) => event);
}

function lastDelta({ text }: Seen): string {
  return namedEventsIn(text).findLast(({ event }) => event === 'message_delta')?.data ?? '';
}

describe('messages on demand', () => {
  it('are errors with headers and fields of their own, streamed or not', async () => {
    const fault = {
      status: 529,
      retry_after: 2,
      headers: { 'x-should-retry': 'true' },
      error: { code: 'busy' },
    };
    for (const seen of [await unary(fault), await stream(fault)]) {
      expect([seen.status, seen.headers['retry-after'], seen.headers['x-should-retry']]).toEqual([
        529,
        '2',
        'true',
      ]);
      expect(JSON.parse(seen.text)).toEqual({
        type: 'error',
        error: { type: 'overloaded_error', message: 'Overloaded', details: { error_code: 'busy' } },
        request_id: seen.headers['request-id'],
      });
    }
  });

  it('are late, and paced', async () => {
    const paced = await stream({ delay_ms: 100, chunks: 10, chunk_delay_ms: 20 });
    expect(paced.headersAfter).toBeGreaterThanOrEqual(95);
    expect(paced.endAfter).toBeGreaterThanOrEqual(295);
    expect(deltasIn(paced.text)).toBe('w1 w2 w3 w4 w5 w6 w7 w8 w9 w10');
  });

  it('are cut before and after their headers, in the middle and before the end', async () => {
    await expect(stream({ cut: 'before_headers' })).rejects.toThrow('socket hang up');
    const empty = await stream({ cut: 'after_headers' });
    expect([empty.status, empty.text, empty.complete]).toEqual([200, '', false]);
    const middle = await stream({ cut: 'mid_stream', cut_after_chunks: 2, content: 'a b c d' });
    expect([deltasIn(middle.text), middle.complete]).toEqual(['a b ', false]);
    const late = await stream({ cut: 'before_done' });
    expect([namesIn(late).at(-1), late.complete]).toEqual(['message_delta', false]);
    expect((await unary({ cut: 'before_done' })).complete).toBe(false);
  });

  it('are silent in the middle until the client leaves', async () => {
    const left = stream({ id: 'silent', silent: 'mid_stream' }, { signal: AbortSignal.timeout(300) });
    await left.catch(() => undefined);
    const record = await simulator.waitForRequest(
      (entry) => entry.id === 'silent' && entry.client_closed_at !== null,
    );
    expect([record.chunks_sent > 3, record.usage_delivered]).toEqual([true, false]);
  });

  it('end early in order, with and without an error event', async () => {
    const whole = await stream({ end_without_done: true });
    expect([namesIn(whole).at(-1), whole.complete]).toEqual(['message_delta', true]);
    const early = await stream({ end_after_chunks: 1, content: 'a b c' });
    expect([deltasIn(early.text), namesIn(early).includes('message_delta')]).toEqual(['a ', false]);
    const reported = await stream({
      error_event_after_chunks: 2,
      content: 'a b c',
      error: { type: 'overloaded_error', message: 'Overloaded' },
    });
    const last = namedEventsIn(reported.text).at(-1);
    expect([deltasIn(reported.text), last?.event, reported.complete]).toEqual(['a b ', 'error', true]);
    expect(JSON.parse(last?.data ?? '')).toEqual({
      type: 'error',
      error: { type: 'overloaded_error', message: 'Overloaded' },
      request_id: reported.headers['request-id'],
    });
  });

  it('are malformed, in one piece and in one event', async () => {
    const broken = await unary({ malformed: 'json' });
    expect(() => read(broken.text)).toThrow(SyntaxError);
    const events = namedEventsIn((await stream({ malformed: 'json', content: 'a b' })).text);
    expect(events.filter(({ data }) => !isJson(data))).toHaveLength(1);
    expect(events.at(-1)?.event).toBe('message_stop');
    const { text } = await stream({ malformed: 'sse', content: 'a b' });
    expect(text).toContain('\n<html>');
    expect(deltasIn(text)).toBe('a b');
  });

  it('are of the other kind, of another type and for another model', async () => {
    expect(read((await stream({ other_kind: true })).text, 'type')).toBe('message');
    expect(namesIn(await unary({ other_kind: true })).at(-1)).toBe('message_stop');
    expect((await stream({ wrong_content_type: true })).headers['content-type']).toMatch(/^text\/plain/);
    const faults = { models: { 'claude-sonnet-5-5': { status: 404 } } };
    expect((await unary(faults)).status).toBe(404);
  });

  it('differ by attempt, and follow the standing fault', async () => {
    const attempts = { id: 'twice', attempts: [{ status: 529 }, { status: 500 }] };
    const statuses = [await unary(attempts), await unary(attempts), await unary(attempts)];
    expect(statuses.map(({ status }) => status)).toEqual([529, 500, 200]);
    simulator.setFault({ status: 503 });
    expect((await stream({})).status).toBe(503);
    simulator.setFault(null);
  });

  it('call scripted tools as often as asked, with broken input too', async () => {
    const tool_calls = [{ name: 'remember', arguments: { key: 'tea' } }];
    const first = await unary({ tool_calls, tool_rounds: 2 });
    const call = read(first.text, 'content', 0) as { id: string };
    expect(call).toMatchObject({ type: 'tool_use', name: 'remember', input: { key: 'tea' } });
    const turns: object[] = [{ role: 'user', content: 'go' }];
    const stops: unknown[] = [];
    for (let round = 0; round < 2; round++) {
      turns.push(
        { role: 'assistant', content: [{ ...call, id: `c${round}` }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${round}`, content: 'ok' }] },
      );
      const body = messagesBody('', { messages: turns, x_simulator: { tool_calls, tool_rounds: 2 } });
      stops.push(read((await callMessages(simulator, body)).text, 'stop_reason'));
    }
    expect(stops).toEqual(['tool_use', 'end_turn']);
    const { text } = await stream({ tool_calls: [{ name: 'broken', arguments: '{"a":' }] });
    expect(deltasIn(text, 'input_json_delta', 'partial_json')).toBe('{"a":');
  });

  it('think in as many pieces as asked', async () => {
    const seen = await stream({ thinking: 3, content: 'a' });
    expect(deltasIn(seen.text, 'thinking_delta', 'thinking')).toBe('t1 t2 t3');
    expect(read(lastDelta(seen), 'usage')).toMatchObject({
      output_tokens: 4,
      output_tokens_details: { thinking_tokens: 3 },
    });
  });
});

describe('odd messages', () => {
  it('have pieces, models and errors of any size', async () => {
    expect(deltasIn((await stream({ huge_chunk_bytes: 1_000_000 })).text)).toHaveLength(1_000_000);
    expect(read((await unary({ huge_model_bytes: 5000 })).text, 'model')).toHaveLength(5000);
    const error = await unary({ status: 400, huge_error_bytes: 5000 });
    expect(read(error.text, 'error', 'message')).toHaveLength(5000);
  });

  it('have no usage, or zeros after it', async () => {
    expect((await stream({ no_usage: true })).text).not.toContain('usage');
    expect((await unary({ no_usage: true })).text).not.toContain('usage');
    const zeros = namedEventsIn((await stream({ zeros_last: true, chunks: 2 })).text).slice(-3);
    expect(zeros.map(({ event }) => event)).toEqual(['message_delta', 'message_delta', 'message_stop']);
    expect(zeros.slice(0, 2).map(({ data }) => read(data, 'usage', 'output_tokens'))).toEqual([2, 0]);
  });

  it.each([
    ['start', { input_tokens: 10 }, undefined],
    ['delta', { input_tokens: 0 }, 10],
  ] as const)('give their input in the %s alone', async (place, first, last) => {
    const seen = await stream({ input_usage: place });
    expect(read(namedEventsIn(seen.text)[0]?.data ?? '', 'message', 'usage')).toMatchObject(first);
    expect(read(lastDelta(seen), 'usage', 'input_tokens')).toBe(last);
    expect(read(lastDelta(seen), 'usage', 'output_tokens')).toBeGreaterThan(1);
  });

  it('have redacted thinking, which comes back unchanged', async () => {
    const seen = await unary({ redacted_thinking: true, content: 'a' });
    const content = read(seen.text, 'content') as object[];
    expect(content[0]).toMatchObject({ type: 'redacted_thinking' });
    const turns = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content },
      { role: 'user', content: 'and?' },
    ];
    expect((await callMessages(simulator, messagesBody('', { messages: turns }))).status).toBe(200);
    const streamed = namedEventsIn((await stream({ redacted_thinking: true })).text);
    expect(read(streamed[1]?.data ?? '', 'content_block', 'type')).toBe('redacted_thinking');
  });

  it('mean the same however they are written', async () => {
    const manner = fc.record(
      {
        split_utf8: fc.boolean(),
        one_write: fc.boolean(),
        crlf: fc.boolean(),
        comments: fc.boolean(),
        chunks: fc.integer({ min: 1, max: 9 }),
        thinking: fc.integer({ min: 0, max: 3 }),
      },
      { requiredKeys: [] },
    );
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(manner, text, async (fault, content) => {
        const seen = await stream({ ...fault, content });
        expect(deltasIn(seen.text)).toBe(content);
        expect(namesIn(seen).at(-1)).toBe('message_stop');
        expect(seen.text.includes('\r\n')).toBe(fault.crlf === true);
        expect(seen.text.includes(': comment')).toBe(fault.comments === true);
      }),
      { numRuns: 40 },
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
