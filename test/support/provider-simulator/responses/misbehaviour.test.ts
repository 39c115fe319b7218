import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { startProviderSimulator } from '../simulator.ts';
import type { ProviderSimulator } from '../simulator.ts';
import { eventsIn, read } from '../test-client.ts';
import type { CallOptions, Seen } from '../test-client.ts';
import {
  callResponses,
  deltasIn,
  responseEventsIn,
  responsesBody,
  typesIn,
} from './responses-test-client.ts';

let simulator: ProviderSimulator;

beforeAll(async () => {
  simulator = await startProviderSimulator();
});

afterAll(() => simulator.close());

function unary(instructions: object): Promise<Seen> {
  return callResponses(simulator, responsesBody('one two three', { x_simulator: instructions }));
}

function stream(instructions: object, options: CallOptions = {}): Promise<Seen> {
  const body = responsesBody('one two three', { stream: true, x_simulator: instructions });
  return callResponses(simulator, body, options);
}

const argumentsDelta = 'response.function_call_arguments.delta';

describe('responses on demand', () => {
  it('are errors with headers and fields of their own, streamed or not', async () => {
    const fault = { status: 429, retry_after: 2, error: { code: 'insufficient_quota' } };
    for (const seen of [await unary(fault), await stream(fault)]) {
      expect([seen.status, seen.headers['retry-after']]).toEqual([429, '2']);
      expect(read(seen.text, 'error')).toEqual({
        message: 'Rate limit reached for requests.',
        type: 'requests',
        param: null,
        code: 'insufficient_quota',
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
    expect([typesIn(late.text).at(-1), late.complete]).toEqual(['response.output_item.done', false]);
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

  it('end early in order, without their last event', async () => {
    const whole = await stream({ end_without_done: true });
    expect([typesIn(whole.text).at(-1), whole.complete]).toEqual(['response.output_item.done', true]);
    const early = await stream({ end_after_chunks: 1, content: 'a b c' });
    expect([deltasIn(early.text), typesIn(early.text).at(-1)]).toEqual(['a ', 'response.output_text.delta']);
  });

  it('fail in the middle with two events, numbered like the others', async () => {
    const error = { code: 'server_is_overloaded', message: 'Overloaded' };
    const { text, complete } = await stream({ error_event_after_chunks: 2, content: 'a b c', error });
    const events = responseEventsIn(text);
    expect([deltasIn(text), complete]).toEqual(['a b ', true]);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    const id = read(JSON.stringify(events[0]), 'response', 'id');
    expect(events.slice(-2)).toMatchObject([
      { type: 'error', ...error, param: null },
      { type: 'response.failed', response: { id, status: 'failed', error, usage: null } },
    ]);
  });

  it('are malformed, in one piece and in one event', async () => {
    const broken = await unary({ malformed: 'json' });
    expect(() => read(broken.text)).toThrow(SyntaxError);
    const events = eventsIn((await stream({ malformed: 'json', content: 'a b' })).text);
    expect(events.filter((data) => !isJson(data))).toHaveLength(1);
    expect(read(events.at(-1) ?? '', 'type')).toBe('response.completed');
    expect((await stream({ malformed: 'sse', content: 'a b' })).text).toContain('\n<html>');
  });

  it('are of the other kind, of another type and for another model', async () => {
    expect(read((await stream({ other_kind: true })).text, 'object')).toBe('response');
    expect(typesIn((await unary({ other_kind: true })).text).at(-1)).toBe('response.completed');
    expect((await stream({ wrong_content_type: true })).headers['content-type']).toMatch(/^text\/plain/);
    expect((await unary({ models: { 'gpt-5.4-nano': { status: 404 } } })).status).toBe(404);
  });

  it('differ by attempt, and follow the standing fault', async () => {
    const attempts = { id: 'twice', attempts: [{ status: 503 }, { status: 500 }] };
    const statuses = [await unary(attempts), await unary(attempts), await unary(attempts)];
    expect(statuses.map(({ status }) => status)).toEqual([503, 500, 200]);
    simulator.setFault({ status: 503 });
    expect((await stream({})).status).toBe(503);
    simulator.setFault(null);
  });

  it('call scripted tools as often as asked, with broken arguments too', async () => {
    const tool_calls = [{ name: 'remember', arguments: { key: 'tea' } }];
    const instructions = { tool_calls, tool_rounds: 2 };
    const items: object[] = [{ role: 'user', content: 'go' }];
    const types: unknown[] = [];
    for (let round = 0; round < 3; round++) {
      const { text } = await callResponses(simulator, responsesBody(items, { x_simulator: instructions }));
      const item = read(text, 'output', 0) as { type: string; call_id: string }; // every answer has an item
      types.push(item.type);
      items.push(item, { type: 'function_call_output', call_id: item.call_id, output: 'ok' });
    }
    expect(types).toEqual(['function_call', 'function_call', 'message']);
    const { text } = await stream({ tool_calls: [{ name: 'broken', arguments: '{"a":' }] });
    expect(deltasIn(text, argumentsDelta)).toBe('{"a":');
  });

  it('think in as many pieces as asked', async () => {
    const { text } = await stream({ thinking: 3, content: 'a' });
    expect(deltasIn(text, 'response.reasoning_summary_text.delta')).toBe('t1 t2 t3');
    expect(responseEventsIn(text).at(-1)).toMatchObject({
      response: { usage: { output_tokens: 4, output_tokens_details: { reasoning_tokens: 3 } } },
    });
  });

  it('have pieces, models, errors and usage of any size, and no usage', async () => {
    expect(deltasIn((await stream({ huge_chunk_bytes: 1_000_000 })).text)).toHaveLength(1_000_000);
    expect(read((await unary({ huge_model_bytes: 5000 })).text, 'model')).toHaveLength(5000);
    const error = await unary({ status: 400, huge_error_bytes: 5000 });
    expect(read(error.text, 'error', 'message')).toHaveLength(5000);
    const usage = { prompt_tokens: 100, cached_tokens: 40, cache_write_tokens: 9, completion_tokens: 5 };
    expect(read((await unary({ usage })).text, 'usage')).toMatchObject({
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 40, cache_write_tokens: 9 },
      total_tokens: 105,
    });
    expect(read((await unary({ no_usage: true })).text, 'usage')).toBeNull();
    expect(responseEventsIn((await stream({ no_usage: true })).text).at(-1)).toMatchObject({
      response: { usage: null },
    });
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
        expect(typesIn(seen.text).at(-1)).toBe('response.completed');
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
