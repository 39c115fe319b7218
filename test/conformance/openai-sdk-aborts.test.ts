import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { endedTrace } from '@gatehouse/test/ended-trace';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import { APIConnectionError, APIUserAbortError } from 'openai';
import type OpenAI from 'openai';
import { closedAfter, errorOf, say, sdkClient, simulate } from './sdk.ts';

/** The gateway's handling of an official SDK that leaves early. */
let gateway: SomeGateway;
let client: OpenAI;

beforeAll(async () => {
  gateway = await openGateway();
  const { adminKey, userKey } = await gateway.makeTenant();
  client = sdkClient(gateway, userKey);
  const body = { key: 'poet', name: 'Poet', model: 'small' };
  expect((await gateway.call('/v1/agents', { key: adminKey, body })).status).toBe(201);
});
afterAll(async () => gateway.stop());

/** A tenth of a second is promised, and `make bench` measures it. Here other tests use the same cores. */
const promptlyMs = 3_000;

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
    const run = await endedTrace(gateway, 'request_id', id);
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
    expect(await endedTrace(gateway, 'request_id', id)).toMatchObject({ status: 'cancelled' });
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
    const run = await endedTrace(gateway, 'request_id', id);
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
    expect(await endedTrace(gateway, 'request_id', id)).toMatchObject({ status: 'cancelled' });
  });

  it.each([false, true])('while its agent is looked up calls no provider (stream: %s)', async (stream) => {
    const id = newId();
    const held = gateway.rows('agent', holdAgents);
    await eventually(async () => expect(await gateway.rows('agent', agentLocks, [true])).toHaveLength(1));
    const leave = new AbortController();
    const answer = errorOf(
      client.chat.completions.create(
        { ...say('hello', 'agent:poet'), stream, ...simulate({ id, silent: 'before_headers' }) },
        { signal: leave.signal, headers: { 'x-request-id': id } },
      ),
    );
    await eventually(async () => expect(await gateway.rows('agent', agentLocks, [false])).not.toEqual([]));
    leave.abort();
    expect(await answer).toBeInstanceOf(APIUserAbortError);
    await held;
    // It waits for the same lookup, so the first request has gone on by the time that it is answered.
    await client.chat.completions.create(say('hello', 'agent:poet'));
    expect(gateway.simulator.requests.filter((request) => request.id === id)).toEqual([]);
    const started = "select 1 from chat.runs_under_way where run::json ->> 'request_id' = $1";
    expect(await gateway.rows('chat', started, [id])).toEqual([]);
  });
});

/** Keeps lookups of agents waiting, for less than their deadline. */
const holdAgents =
  'do $$ begin lock table agent.agents in access exclusive mode; perform pg_sleep(0.7); end $$';
const agentLocks = `select 1 from pg_locks join pg_database on oid = database
  where datname = current_database() and relation = 'agent.agents'::regclass and granted = $1
    and (not granted or mode = 'AccessExclusiveLock')`;
