import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { TestGateway } from '@gatehouse/test/gateway';
import { APIConnectionError, APIUserAbortError } from 'openai';
import type OpenAI from 'openai';
import { closedAfter, endedRun, errorOf, say, sdkClient, simulate } from './sdk.ts';

/** What the gateway makes of an official SDK that leaves early. */
let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  gateway = await TestGateway.start();
  client = sdkClient(gateway, (await gateway.makeTenant()).userKey);
});
afterAll(async () => gateway.stop());

/** A tenth of a second is promised; machines differ. */
const promptlyMs = 1_000;

describe('a client that leaves', () => {
  it('in the middle of a stream closes the provider’s connection, and the run is cancelled with its usage', async () => {
    const id = newId();
    const stream = await client.chat.completions.create(
      { ...say('hello'), stream: true, ...simulate({ id, chunks: 200, chunk_delay_ms: 25 }) },
      { headers: { 'x-request-id': id } },
    );
    let chunks = 0;
    let leftAt = 0;
    for await (const chunk of stream) {
      chunks += chunk.choices.length;
      if (chunks < 4) continue;
      leftAt = Date.now();
      stream.controller.abort();
    }
    expect(await closedAfter(gateway, (request) => request.id === id, leftAt)).toBeLessThan(promptlyMs);
    const run = await endedRun(gateway, id);
    expect(run).toMatchObject({ status: 'cancelled', streamed: true, usage_estimated: true });
    expect(Number(run['output_tokens'])).toBeGreaterThan(0);
    expect(Number(run['output_tokens'])).toBeLessThan(200);
  });

  it('by breaking out of its loop is noticed too', async () => {
    const id = newId();
    const stream = await client.chat.completions.create(
      { ...say('hello'), stream: true, ...simulate({ id, chunks: 200, chunk_delay_ms: 25 }) },
      { headers: { 'x-request-id': id } },
    );
    for await (const _chunk of stream) break;
    expect(await closedAfter(gateway, (request) => request.id === id, Date.now())).toBeLessThan(promptlyMs);
    expect(await endedRun(gateway, id)).toMatchObject({ status: 'cancelled' });
  });

  it('before a unary answer closes the provider’s connection, and the run is cancelled with its usage', async () => {
    const id = newId();
    const leave = new AbortController();
    const answer = errorOf(
      client.chat.completions.create(
        { ...say('hello'), ...simulate({ id, silent: 'before_headers' }) },
        { signal: leave.signal, headers: { 'x-request-id': id } },
      ),
    );
    await gateway.simulator.waitForRequest((request) => request.id === id);
    const leftAt = Date.now();
    leave.abort();
    expect(await answer).toBeInstanceOf(APIUserAbortError);
    expect(await closedAfter(gateway, (request) => request.id === id, leftAt)).toBeLessThan(promptlyMs);
    const run = await endedRun(gateway, id);
    expect(run).toMatchObject({ status: 'cancelled', streamed: false, usage_estimated: true });
    expect(Number(run['input_tokens'])).toBeGreaterThan(0);
  });

  it('because its own time-out is up is noticed too', async () => {
    const id = newId();
    const error = await errorOf(
      client.chat.completions.create(
        { ...say('hello'), ...simulate({ id, silent: 'before_headers' }) },
        { timeout: 300, headers: { 'x-request-id': id } },
      ),
    );
    const leftAt = Date.now();
    // An APIConnectionTimeoutError outside of Jest, in whose realm the SDK does not know fetch's AbortError.
    expect(error).toBeInstanceOf(APIConnectionError);
    expect(await closedAfter(gateway, (request) => request.id === id, leftAt)).toBeLessThan(promptlyMs);
    expect(await endedRun(gateway, id)).toMatchObject({ status: 'cancelled' });
  });
});
