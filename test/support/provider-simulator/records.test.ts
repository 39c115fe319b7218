import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startProviderSimulator } from './simulator.ts';
import type { ProviderSimulator } from './simulator.ts';
import { call, chatBody, read, streamBody } from './test-client.ts';

let simulator: ProviderSimulator;

beforeAll(async () => {
  simulator = await startProviderSimulator();
});

afterAll(() => simulator.close());
beforeEach(() => simulator.reset());

async function control(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; text: string }> {
  return call(simulator, body, { method, path: `/control${path}` });
}

async function statusOf(instructions: object, fields: object = {}): Promise<number> {
  return (await call(simulator, chatBody('hi', { x_simulator: instructions, ...fields }))).status;
}

describe('records', () => {
  it('hold what came in and what went out', async () => {
    const body = JSON.stringify(chatBody('grüße', { unknown_field: [1], x_simulator: { id: 'run-1' } }));
    const seen = await call(simulator, body, {
      headers: { authorization: 'Bearer sk-secret', 'x-thing': 'kept' },
    });
    const record = await simulator.waitForRequest((entry) => entry.finished_at !== null);

    expect(record).toMatchObject({
      method: 'POST',
      path: '/v1/chat/completions',
      raw_body: body,
      raw_bytes: Buffer.from(body),
      body: JSON.parse(body) as object,
      headers: { authorization: 'present', 'x-thing': 'kept' },
      id: 'run-1',
      attempt: 1,
      model: 'gpt-4o',
      response_id: read(seen.text, 'id'),
      status: 200,
      usage: read(seen.text, 'usage'),
      usage_delivered: true,
      client_closed_at: null,
    });
  });

  it('keep no credentials and say whether the key was right', async () => {
    const locked = await startProviderSimulator({ apiKey: 'sk-right' });
    await call(locked, chatBody('hi'), { headers: { authorization: 'Bearer sk-right' } });
    await call(locked, chatBody('hi'), {
      headers: { authorization: 'Bearer sk-wrong', 'x-api-key': 'sk-wrong' },
    });
    await locked.close();
    expect(locked.requests.map((record) => record.headers.authorization)).toEqual(['matched', 'mismatched']);
    expect(JSON.stringify(locked.requests.map((record) => record.headers))).not.toContain('sk-');
  });

  it('count chunks, and delivered usage apart from charged usage', async () => {
    await call(simulator, streamBody({ id: 'whole', content: 'a b' }));
    await call(simulator, streamBody({ id: 'cut', content: 'a b', cut: 'mid_stream', cut_after_chunks: 1 }));
    await call(simulator, streamBody({ id: 'late', content: 'a b', cut: 'before_done' }));
    await call(simulator, streamBody({ id: 'untold', content: 'a b', no_usage: true }));
    await call(simulator, streamBody({ id: 'error', status: 500 }));
    const facts = simulator.requests.map(({ id, chunks_sent, usage, usage_delivered }) => [
      id,
      chunks_sent,
      usage?.total_tokens,
      usage_delivered,
    ]);
    expect(facts).toEqual([
      ['whole', 5, 12, true],
      ['cut', 2, 12, false],
      ['late', 5, 12, true],
      ['untold', 4, 12, false],
      ['error', 0, undefined, false],
    ]);
  });

  it('see a client leave at once', async () => {
    const chunkDelayMs = 20;
    const controller = new AbortController();
    const gone = call(simulator, streamBody({ id: 'leaver', chunks: 100, chunk_delay_ms: chunkDelayMs }), {
      signal: controller.signal,
    });
    await simulator.waitForRequest((entry) => entry.id === 'leaver' && entry.chunks_sent > 2);
    const left = Date.now();
    controller.abort();
    await gone.catch(() => undefined);
    const record = await simulator.waitForRequest((entry) => entry.client_closed_at !== null, 1000);
    expect((record.client_closed_at ?? Infinity) - left).toBeLessThan(500);
    const sent = record.chunks_sent;
    await sleep(3 * chunkDelayMs);
    expect([record.chunks_sent, record.finished_at, record.usage_delivered]).toEqual([sent, null, false]);
  });

  it('are not kept where that is off, while the totals are', async () => {
    const bench = await startProviderSimulator({ record: false });
    await call(bench, chatBody('hi'));
    await call(bench, streamBody({}));
    const { totals, requests } = bench.ledger();
    await bench.close();
    expect([bench.requests.length, requests.length, totals.requests, totals.delivered.requests]).toEqual([
      0, 0, 2, 2,
    ]);
  });

  it('are few where bodies are large, and show 64 KiB of each', async () => {
    const large = 'x'.repeat(9 * 1024 * 1024);
    for (let sent = 0; sent < 8; sent++) await call(simulator, chatBody(large));
    expect(simulator.requests.length).toBeLessThan(8);
    expect(simulator.requests.at(-1)?.raw_body).toHaveLength(64 * 1024);
    expect(simulator.requests.at(-1)?.raw_bytes.length).toBeGreaterThan(large.length);
  });

  it('that never come fail the wait', async () => {
    await expect(simulator.waitForRequest(() => false, 30)).rejects.toThrow('no request matched in 30 ms');
  });
});

describe('attempts and models', () => {
  it('give each attempt of one id its own fault, then none', async () => {
    const instructions = { id: 'run', attempts: [{ status: 503 }, { status: 429 }] };
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 4; attempt++) statuses.push(await statusOf(instructions));
    expect(statuses).toEqual([503, 429, 200, 200]);
    expect(await statusOf({ ...instructions, id: 'other' })).toBe(503);
    expect(simulator.requests.map((record) => record.attempt)).toEqual([1, 2, 3, 4, 1]);
  });

  it('fail one model only', async () => {
    const instructions = { models: { 'gpt-4o': { status: 500 } } };
    expect(await statusOf(instructions)).toBe(500);
    expect(await statusOf(instructions, { model: 'gpt-4o-mini' })).toBe(200);
  });
});

describe('the standing fault', () => {
  it('applies to every endpoint until cleared', async () => {
    expect((await control('POST', '/fault', { status: 503 })).status).toBe(200);
    expect(await statusOf({ id: 'x' })).toBe(503);
    expect((await call(simulator, undefined, { method: 'GET', path: '/v1/models' })).status).toBe(503);
    expect((await call(simulator, { model: 'e', input: 'a' }, { path: '/v1/embeddings' })).status).toBe(503);
    expect(read((await control('GET', '/fault')).text, 'fault')).toEqual({ status: 503 });
    await control('DELETE', '/fault');
    expect(await statusOf({})).toBe(200);
  });

  it('can be set in process, by model, and refuses typos', async () => {
    simulator.setFault({ models: { 'gpt-4o': { status: 529 } } });
    expect(await statusOf({})).toBe(529);
    expect(await statusOf({}, { model: 'other' })).toBe(200);
    expect((await control('POST', '/fault', { statsu: 503 })).status).toBe(400);
    expect((await control('POST', '/fault', 'oops')).status).toBe(400);
  });
});

describe('control endpoints', () => {
  it('show requests since a sequence number, and the ledger', async () => {
    await statusOf({ id: 'a' });
    await statusOf({ id: 'b', status: 500 });
    await statusOf({ id: 'c', no_usage: true });
    const first = simulator.requests[0]?.seq ?? 0;
    const since = read((await control('GET', `/requests?since=${first}`)).text, 'requests') as {
      id: string;
    }[];
    expect(since.map((entry) => entry.id)).toEqual(['b', 'c']);
    expect(since[0]).not.toHaveProperty('raw_bytes');

    const ledger = await control('GET', '/ledger');
    expect(read(ledger.text, 'totals')).toEqual({
      requests: 3,
      open: 0,
      by_status: { 200: 2, 500: 1 },
      delivered: { requests: 1, prompt_tokens: 7, completion_tokens: 9, total_tokens: 16 },
      undelivered: { requests: 1, prompt_tokens: 7, completion_tokens: 9, total_tokens: 16 },
    });
    expect(read(ledger.text, 'requests', 2)).toMatchObject({ id: 'c', usage_delivered: false });

    await control('POST', '/reset');
    expect(read((await control('GET', '/requests')).text, 'requests')).toEqual([]);
    expect((await control('GET', '/nothing')).status).toBe(404);
  });
});

describe('the stand-alone process', () => {
  const start = async () => {
    const child = fork(new URL('./main.ts', import.meta.url), {
      env: { PATH: process.env['PATH'] },
      silent: true,
    });
    let output = '';
    while (!output.includes('\n') && child.stdout !== null) {
      output += String((await once(child.stdout, 'data'))[0]);
    }
    return { child, url: /^simulator listening on (http:\/\/127\.0\.0\.1:\d+)\n/.exec(output)?.[1] ?? '' };
  };

  it('serves and stops on SIGTERM, with open connections', async () => {
    const { child, url } = await start();
    expect((await fetch(`${url}/v1/models`)).status).toBe(200);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('stops when its parent goes', async () => {
    const { child } = await start();
    child.disconnect();
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});
