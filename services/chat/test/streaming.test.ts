import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { chat, ChatHarness } from './chat-harness.ts';

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start({ silenceMs: 150 });
});
afterAll(async () => harness.stop());

interface Chunk {
  id: string;
  model: string;
  created: number;
  choices?: { delta: { content?: string }; finish_reason: string | null }[];
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
  error?: { type: string; code: string };
}

interface Streamed {
  response: Response;
  text: string;
  events: string[];
  chunks: Chunk[];
  content: string;
}

async function stream(fields: Record<string, unknown>, text = 'tell me a story'): Promise<Streamed> {
  const response = await harness.post('/v1/chat/completions', { ...chat(text), stream: true, ...fields });
  const body = await response.text();
  const events = body
    .split(/\r?\n\r?\n/)
    .flatMap((frame) => (frame.startsWith('data: ') ? [frame.slice(6)] : []));
  const chunks = events.filter((event) => event !== '[DONE]').map((event) => JSON.parse(event) as Chunk);
  const content = chunks.map((chunk) => chunk.choices?.[0]?.delta.content ?? '').join('');
  return { response, text: body, events, chunks, content };
}

describe('a streamed completion', () => {
  it('comes as the provider sent it, ends with one [DONE], and is recorded with usage that the client did not ask for', async () => {
    const { response, events, chunks, content } = await stream({ x_simulator: { content: 'one two three' } });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(response.headers.get('content-length')).toBeNull();
    expect(content).toBe('one two three');
    expect(events.filter((event) => event === '[DONE]')).toHaveLength(1);
    expect(events.at(-1)).toBe('[DONE]');
    expect(new Set(chunks.map((chunk) => `${chunk.id} ${chunk.model} ${chunk.created}`)).size).toBe(1);
    expect(chunks.some((chunk) => chunk.choices?.length === 0)).toBe(false);
    const run = await harness.endedRun(response.headers.get('x-run-id'));
    expect(run).toMatchObject({
      status: 'ok',
      streamed: true,
      usage_estimated: false,
      output_tokens: 3,
      output_preview: 'one two three',
    });
    expect(run['time_to_first_token_ms']).not.toBeNull();
  });

  it('has exactly one usage chunk, last and with empty choices, when the client asks', async () => {
    const { chunks } = await stream({ stream_options: { include_usage: true } });
    const usage = chunks.filter((chunk) => chunk.choices?.length === 0);
    expect(usage).toHaveLength(1);
    expect(chunks.at(-1)).toBe(usage[0]);
    expect(usage[0]?.usage?.prompt_tokens).toBeGreaterThan(0);
  });

  it('gets a usage chunk of our own, marked estimated in the record, when the provider sends none', async () => {
    const { chunks, response } = await stream({
      stream_options: { include_usage: true },
      x_simulator: { no_usage: true },
    });
    const usage = chunks.at(-1);
    expect(usage).toMatchObject({ id: chunks[0]?.id, choices: [] });
    const run = await harness.endedRun(response.headers.get('x-run-id'));
    expect(run).toMatchObject({
      usage_estimated: true,
      output_tokens: usage?.usage?.completion_tokens,
    });
  });

  it.each([
    [
      'split in the middle of characters',
      { split_utf8: true, content: 'größer 你好 🎉 done' },
      'größer 你好 🎉 done',
    ],
    ['sent in one write', { one_write: true, content: 'a b c' }, 'a b c'],
    ['with CRLF line ends', { crlf: true, content: 'a b c' }, 'a b c'],
    ['with comments between', { comments: true, content: 'a b c' }, 'a b c'],
  ])('survives frames %s', async (_name, x_simulator, expected) => {
    const { content, events } = await stream({ x_simulator });
    expect(content).toBe(expected);
    expect(events.at(-1)).toBe('[DONE]');
  });

  it('passes a huge chunk', async () => {
    const { content } = await stream({ x_simulator: { huge_chunk_bytes: 2_000_000 } });
    expect(content.length).toBeGreaterThanOrEqual(2_000_000);
  });

  it('sends a comment into the provider’s silence', async () => {
    const { text, events } = await stream({ x_simulator: { first_chunk_delay_ms: 2_000 } });
    expect(text).toContain(': keep-alive\n\n');
    expect(events.at(-1)).toBe('[DONE]');
  });

  it('retries, then falls back, as long as the client has got nothing', async () => {
    const x_simulator = { id: newId(), attempts: [{ status: 500 }, { cut: 'before_headers' }] };
    const { response, events } = await stream({ x_simulator });
    expect(events.at(-1)).toBe('[DONE]');
    const { spans } = await harness.endedRun(response.headers.get('x-run-id'));
    expect(spans.map(({ status }) => status)).toEqual(['error', 'error', 'ok']);
  });
});

describe('a stream that does not come to its end', () => {
  it.each([
    ['cut by the provider', { cut: 'mid_stream', cut_after_chunks: 3, chunks: 8 }],
    ['ended cleanly but without its finish', { end_without_done: true, end_after_chunks: 3, chunks: 8 }],
    ['with an error event inside', { error_event_after_chunks: 3, chunks: 8 }],
    ['with a broken chunk', { malformed: 'json' }],
  ])(
    '%s ends with an error event and no [DONE]; the run is an error with estimated usage',
    async (_name, x_simulator) => {
      const { response, events, chunks } = await stream({ x_simulator: { ...x_simulator } });
      expect(response.status).toBe(200);
      expect(events).not.toContain('[DONE]');
      expect(chunks.at(-1)?.error?.type).toBe('api_error');
      expect(chunks.filter((chunk) => chunk.error !== undefined)).toHaveLength(1);
      const run = await harness.endedRun(response.headers.get('x-run-id'));
      expect(run).toMatchObject({ status: 'error', usage_estimated: true });
    },
  );

  it('with an error event of 9 MB ends with the beginning of its message, and is recorded', async () => {
    const { response, text, chunks } = await stream({
      x_simulator: {
        error_event_after_chunks: 2,
        chunks: 5,
        huge_error_bytes: 3_000_000,
      },
    });
    expect(chunks.at(-1)?.error).toMatchObject({
      type: 'api_error',
      code: 'provider_error',
      message: 'x'.repeat(2_000),
      param: null,
    });
    expect(text.slice(-5_000)).not.toContain('[DONE]');
    const run = await harness.endedRun(response.headers.get('x-run-id'));
    expect(run).toMatchObject({ status: 'error', error_message: 'x'.repeat(2_000) });
  });

  it('because the provider falls silent ends with a time-out event', async () => {
    const response = await harness.post('/v1/chat/completions', {
      ...chat('x'),
      model: 'quick',
      stream: true,
      x_simulator: { silent: 'mid_stream', cut_after_chunks: 2, chunks: 5 },
    });
    const text = await response.text();
    expect(text).toContain('"type":"timeout_error"');
    expect(text).not.toContain('[DONE]');
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      status: 'error',
      error_type: 'provider_timeout',
    });
  });

  it('because its replica stops is ended and charged before that is gone, and its provider is called no more', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
    const replica = await harness.startReplica();
    const id = newId();
    const response = await harness.post(
      '/v1/chat/completions',
      {
        ...chat('long', { model: 'priced' }),
        stream: true,
        x_simulator: { id, chunks: 2_000, chunk_delay_ms: 20 },
      },
      { url: `http://127.0.0.1:${replica.httpPort}`, principal: { tenantId } },
    );
    const broken = expect(response.text()).rejects.toThrow();
    const began = Date.now();
    await replica.stop();
    // Its drain time is a second.
    expect(Date.now() - began).toBeLessThan(5_000);
    await broken;
    const [seen] = harness.simulator.requests.filter((request) => request.id === id);
    expect(seen?.client_closed_at).not.toBeNull();
    const [run] = await harness.endedRuns('run_id = $1', [response.headers.get('x-run-id')]);
    // Its client was still there.
    expect(run).toMatchObject({ status: 'interrupted', error_type: 'interrupted', usage_estimated: true });
    expect(run?.output_tokens).toBeGreaterThan(0);
    expect(harness.settlements.filter((settlement) => settlement.tenantId === tenantId)).toMatchObject([
      { costPico: BigInt(run?.cost_pico ?? '') },
    ]);
  });

  it('because its client left closes the provider’s connection and is cancelled with the usage so far', async () => {
    const id = newId();
    const abort = new AbortController();
    const response = await harness.post(
      '/v1/chat/completions',
      { ...chat('long'), stream: true, x_simulator: { id, chunks: 200, chunk_delay_ms: 20 } },
      { signal: abort.signal },
    );
    const reader = response.body?.getReader();
    for (let index = 0; index < 5; index += 1) await reader?.read();
    const leftAt = Date.now();
    abort.abort();
    const seen = await harness.simulator.waitForRequest(
      (request) => request.id === id && request.client_closed_at !== null,
    );
    expect((seen.client_closed_at ?? 0) - leftAt).toBeLessThan(1_000);
    const run = await harness.endedRun(response.headers.get('x-run-id'));
    expect(run).toMatchObject({ status: 'cancelled', usage_estimated: true });
    expect(run.output_tokens).toBeGreaterThan(0);
  });
});
