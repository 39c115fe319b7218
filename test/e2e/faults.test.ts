import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { endedTrace } from '@gatehouse/test/ended-trace';
import { eventually } from '@gatehouse/test/eventually';
import { valueOf } from '@gatehouse/test/exposition';
import { TestGateway } from '@gatehouse/test/gateway';
import type { Answer } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

let gateway: TestGateway;
let tenant: TenantAccess;
beforeAll(async () => {
  gateway = await TestGateway.start({ chats: 2, chat: { silenceMs: 300 } });
  tenant = await gateway.makeTenant();
  await gateway.call('/v1/agents', { key: tenant.adminKey, body: { key: 'bot', model: 'small' } });
});
afterAll(async () => gateway.stop());

const messages = [{ role: 'user', content: 'x' }];

async function complete(fields: Record<string, unknown> = {}, key = tenant.userKey): Promise<Answer> {
  return gateway.call('/v1/chat/completions', { key, body: { model: 'small', messages, ...fields } });
}

/** Between two requests of a client while a database is away. */
const paceMs = 100;

/** Tries until the answer has this status. */
async function answersWith(status: number, request: () => Promise<Answer>): Promise<void> {
  await eventually(async () => expect((await request()).status).toBe(status));
}

describe('a provider', () => {
  it.each<[string, Record<string, unknown>, number, number?]>([
    ['that refuses connections', { model: 'refusing' }, 502],
    ['that fails', { model: 'impatient', x_simulator: { status: 500 } }, 502],
    ['that stalls', { model: 'impatient', x_simulator: { silent: 'before_headers' } }, 504, 200],
    ['that is down but has a fallback', { model: 'refusing-with-fallback' }, 200],
  ])('%s is answered with the status of that failure', async (_name, fields, status, ofStream = status) => {
    for (const [stream, expected] of [
      [false, status],
      [true, ofStream],
    ] as const) {
      const answer = await complete({ ...fields, stream });
      expect(answer.status).toBe(expected);
      // Behind a keep-alive the failure is an event.
      if (expected !== status) expect(answer.body).toMatch(/^(: keep-alive\n\n)+data: {"error":{.*}}\n\n$/);
      else if (status !== 200) expect(Object.keys((answer.body as { error: object }).error)).toHaveLength(5);
    }
  });

  it('that cuts a stream ends it with an error event and a normal close', async () => {
    const answer = await complete({
      stream: true,
      x_simulator: { cut: 'mid_stream', cut_after_chunks: 2, chunks: 6 },
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toContain('"type":"api_error"');
    expect(answer.body).not.toContain('[DONE]');
  });

  it('that pauses gets a comment sent in its place', async () => {
    const answer = await complete({ stream: true, x_simulator: { first_chunk_delay_ms: 800 } });
    expect(answer.body).toContain(': keep-alive');
    expect(answer.body).toContain('data: [DONE]');
  });
});

describe('a client that leaves', () => {
  it.each([
    ['before the answer', false, { delay_ms: 10_000 }],
    ['in the middle of a stream', true, { chunks: 500, chunk_delay_ms: 20 }],
  ])('%s closes the provider’s connection, and its run is cancelled', async (_name, stream, fault) => {
    const id = newId();
    const abort = new AbortController();
    const left = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tenant.userKey}`,
        'content-type': 'application/json',
        'x-session-id': id,
      },
      body: JSON.stringify({ model: 'small', messages, stream, x_simulator: { id, ...fault } }),
      signal: abort.signal,
    }).then((response) => response.text());
    await gateway.simulator.waitForRequest(
      (request) => request.id === id && (!stream || request.chunks_sent > 3),
    );
    const leftAt = Date.now();
    abort.abort();
    await expect(left).rejects.toThrow();
    const seen = await gateway.simulator.waitForRequest(
      (request) => request.id === id && request.client_closed_at !== null,
    );
    expect((seen.client_closed_at ?? 0) - leftAt).toBeLessThan(1_000);
    expect(await endedTrace(gateway, 'session_id', id)).toMatchObject({
      status: 'cancelled',
      usage_estimated: true,
    });
  });
});

describe('a service that is away', () => {
  it('tenant: known keys go on working, unknown ones get 503 and never 401', async () => {
    expect((await complete()).status).toBe(200);
    const unknown = `gwk_${'q'.repeat(16)}_${'r'.repeat(43)}`;
    await gateway.stopMember('tenant-1');
    const statuses = new Set<number>();
    // Waits until the edge's cached answer for the key is too old, and the edge has asked in vain.
    const asked = { peer: 'tenant', method: 'authenticate', code: 'UNAVAILABLE' };
    await eventually(async () => {
      statuses.add((await complete()).status);
      expect(
        valueOf(await gateway.metrics('edge-1'), 'gatehouse_rpc_duration_seconds_count', asked),
      ).toBeGreaterThan(0);
    });
    expect([...statuses]).toEqual([200]);
    const refused = await complete({}, unknown);
    expect(refused.status).toBe(503);
    expect(refused.body).toMatchObject({ error: { type: 'unavailable_error' } });
    expect((await gateway.call('/health')).status).toBe(200);
    await gateway.startMember('tenant-1');
    await answersWith(401, () => complete({}, unknown));
  });

  it('agent: an agent that was used goes on answering, others get 503', async () => {
    expect((await complete({ model: 'agent:bot' })).status).toBe(200);
    // Both replicas of chat have to have seen it.
    await complete({ model: 'agent:bot' });
    await gateway.stopMember('agent-1');
    for (let index = 0; index < 4; index += 1)
      expect((await complete({ model: 'agent:bot' })).status).toBe(200);
    expect((await complete({ model: 'agent:other' })).status).toBe(503);
    expect((await gateway.call('/v1/agents', { key: tenant.userKey })).status).toBe(503);
    await gateway.startMember('agent-1');
    await answersWith(200, () => gateway.call('/v1/agents', { key: tenant.userKey }));
  });

  it('one chat of two: no request fails; both: 503 in the error shape, and it comes back by itself', async () => {
    const running = Array.from({ length: 20 }, () => complete({ x_simulator: { delay_ms: 300 } }));
    const stopped = gateway.stopMember('chat-1');
    const during = Array.from({ length: 20 }, () => complete());
    for (const answer of await Promise.all([...running, ...during])) expect(answer.status).toBe(200);
    await stopped;
    await gateway.stopMember('chat-2');
    const refused = await complete();
    expect(refused.status).toBe(503);
    expect(refused.body).toMatchObject({
      error: { type: 'unavailable_error', code: 'service_unavailable', param: null },
    });
    await gateway.startMember('chat-1');
    await gateway.startMember('chat-2');
    await answersWith(200, () => complete());
  });

  it('chat, while it drains, lets streams finish', async () => {
    const id = newId();
    const streaming = complete({ stream: true, x_simulator: { id, chunks: 10, chunk_delay_ms: 60 } });
    await gateway.simulator.waitForRequest((request) => request.id === id && request.chunks_sent > 1);
    await Promise.all([gateway.stopMember('chat-1'), gateway.stopMember('chat-2')]);
    expect((await streaming).body).toContain('data: [DONE]');
    await gateway.startMember('chat-1');
    await gateway.startMember('chat-2');
    await answersWith(200, () => complete());
  });
});

describe('a database that is away for a while', () => {
  it.each(['tenant', 'agent', 'chat'] as const)(
    '%s: 503 where it is needed, never 401, and it recovers by itself',
    async (service) => {
      const need: Record<typeof service, () => Promise<Answer>> = {
        tenant: () => gateway.call('/v1/api-keys', { key: tenant.adminKey }),
        agent: () => gateway.call('/v1/agents', { key: tenant.userKey }),
        chat: () => complete(),
      };
      const unknown = `gwk_${newId().replaceAll('-', '').slice(0, 16)}_${'r'.repeat(43)}`;
      await answersWith(200, () => need[service]());
      await gateway.databaseOf(service).cut();
      const seen = new Set<number>();
      for (let round = 0; round < 10; round += 1) {
        seen.add((await need[service]()).status);
        if (service === 'tenant') seen.add((await complete({}, unknown)).status);
        await sleep(paceMs);
      }
      expect([...seen]).toEqual([503]);
      await gateway.databaseOf(service).open();
      await answersWith(200, () => need[service]());
    },
  );
});

it('analytics keeps answering requests and loses no events while it cannot ingest them', async () => {
  const { userKey } = await gateway.makeTenant();
  const summary = (): Promise<Answer> => gateway.call('/v1/usage/summary', { key: userKey });
  await gateway.databaseOf('analytics').cut();
  expect((await complete({}, userKey)).status).toBe(200);
  const refused = await summary();
  expect(refused).toMatchObject({ status: 503, body: { error: { code: 'database_unavailable' } } });
  await gateway.databaseOf('analytics').open();
  await eventually(async () => {
    expect(await summary()).toMatchObject({ body: { totals: { requests: 1 } } });
  });
});

it('tenants with limits get 503 while nothing can be leased, and tenants without are served', async () => {
  const limited = await gateway.makeTenant({ limits: { requests_per_minute: 1_000 } });
  const free = await gateway.makeTenant();
  // Each replica gets to know both tenants.
  for (const { userKey } of [limited, free]) {
    const answers = [await complete({}, userKey), await complete({}, userKey)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  }
  await gateway.stopMember('tenant-1');
  try {
    await eventually(async () => {
      const refused = await complete({}, limited.userKey);
      expect(refused.status).toBe(503);
      expect(refused.body).toMatchObject({ error: { code: 'service_unavailable' } });
    });
    expect((await complete({}, free.userKey)).status).toBe(200);
  } finally {
    await gateway.startMember('tenant-1');
  }
  await eventually(async () => {
    expect((await complete({}, limited.userKey)).status).toBe(200);
  });
});

describe('/health', () => {
  it('answers 200 with protocol 3 and nothing more, and 503 from an edge that cannot serve', async () => {
    const healthy = await gateway.call('/health');
    expect(healthy.status).toBe(200);
    expect(Object.keys(healthy.body as object).sort()).toEqual(['protocol', 'status', 'version']);
    expect(healthy.body).toMatchObject({ status: 'ok', protocol: 3 });
    await gateway.stopMember('edge-1');
    await gateway.stopMember('tenant-1');
    await gateway.startMember('edge-1');
    await answersWith(503, () => gateway.call('/health'));
    expect((await gateway.call('/health')).body).toMatchObject({ status: 'unavailable', protocol: 3 });
    await gateway.startMember('tenant-1');
    await answersWith(200, () => gateway.call('/health'));
  });
});
