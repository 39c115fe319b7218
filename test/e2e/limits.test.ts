import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { picoOf } from '@gatehouse/kit/money';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { Answer, SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

let gateway: SomeGateway;
beforeAll(async () => {
  gateway = await openGateway({ chats: 2 });
});
afterAll(async () => gateway.stop());

const messages = [{ role: 'user', content: 'Hello!' }];

async function ask(key: string, fields: Record<string, unknown> = {}): Promise<Answer> {
  return gateway.call('/v1/chat/completions', { key, body: { model: 'small', messages, ...fields } });
}

/** Without the limits of memory, which every tenant has. */
async function limitsOf(key: string): Promise<unknown> {
  const answer = await gateway.call('/v1/limits', { key });
  expect(answer.status).toBe(200);
  const { limits } = answer.body as { limits: { resource: string }[] };
  return { limits: limits.filter(({ resource }) => !resource.startsWith('memory_')) };
}

function seen(of: TenantAccess): number {
  return gateway.simulator.requests.filter(({ body }) => (body as { user?: string }).user === of.id).length;
}

describe('requests per minute', () => {
  it('are shown in every answer’s headers, and refused beyond the limit before any provider is called', async () => {
    const tenant = await gateway.makeTenant({ limits: { requests_per_minute: 2 } });
    await gateway.untilSecond(20);
    const [first, second, third] = [
      await ask(tenant.userKey, { user: tenant.id }),
      await ask(tenant.userKey, { user: tenant.id, stream: true }),
      await ask(tenant.userKey, { user: tenant.id }),
    ];
    expect([first.status, second.status, third.status]).toEqual([200, 200, 429]);
    expect(first.headers.get('x-ratelimit-limit-requests')).toBe('2');
    expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('1');
    expect(second.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(first.headers.get('x-ratelimit-limit-tokens')).toBeNull();
    expect(third.body).toMatchObject({
      error: { type: 'rate_limit_error', code: 'rate_limit_exceeded', param: null },
    });
    const resets = Number(third.headers.get('x-ratelimit-reset-requests')?.slice(0, -1));
    const wait = Number(third.headers.get('retry-after-ms'));
    expect(wait / 1_000).toBeCloseTo(resets, 1);
    expect(Math.abs(wait - 40_000)).toBeLessThan(2_000);
    expect(Number(third.headers.get('retry-after'))).toBe(Math.ceil(wait / 1_000));
    expect(seen(tenant)).toBe(2);
    expect(await limitsOf(tenant.userKey)).toMatchObject({
      limits: [{ resource: 'requests', window: 'minute', limit: 2, used: 2, remaining: 0 }],
    });
  });

  it('count requests with an unknown model or a wrong body too, which cost time', async () => {
    const tenant = await gateway.makeTenant({ limits: { requests_per_minute: 3 } });
    await gateway.untilSecond(1);
    expect((await ask(tenant.userKey, { model: 'nope' })).status).toBe(404);
    expect((await ask(tenant.userKey, { messages: [] })).status).toBe(400);
    expect((await ask(tenant.userKey)).status).toBe(200);
    expect((await ask(tenant.userKey)).status).toBe(429);
  });

  it('of a key hold beside those of its tenant', async () => {
    const tenant = await gateway.makeTenant({ limits: { requests_per_minute: 100 } });
    const limited = await gateway.call('/v1/api-keys', {
      key: tenant.adminKey,
      body: { name: 'k', role: 'user', limits: { requests_per_minute: 1 } },
    });
    const { key } = limited.body as { key: string };
    await gateway.untilSecond(1);
    const first = await ask(key);
    expect(first.headers.get('x-ratelimit-limit-requests')).toBe('1');
    expect((await ask(key)).status).toBe(429);
    expect((await ask(tenant.userKey)).status).toBe(200);
    expect(await limitsOf(key)).toMatchObject({ limits: [{ limit: 1, used: 1 }] });
    // The amount that was leased for the refused request is returned.
    await eventually(async () => {
      expect(await limitsOf(tenant.userKey)).toMatchObject({ limits: [{ limit: 100, used: 2 }] });
    });
  });

  it('are counted anew from the next minute on, and not before', async () => {
    const tenant = await gateway.makeTenant({ limits: { requests_per_minute: 1 } });
    await gateway.untilSecond(57);
    expect((await ask(tenant.userKey)).status).toBe(200);
    const refused = await ask(tenant.userKey);
    expect(refused.status).toBe(429);
    const waitMs = Number(refused.headers.get('retry-after-ms'));
    expect(waitMs).toBeLessThan(3_100);
    await sleep(waitMs + 50);
    expect((await ask(tenant.userKey)).status).toBe(200);
  });
});

describe('tokens per minute', () => {
  it('are reserved at their most and settled at what was reported', async () => {
    const tenant = await gateway.makeTenant({ limits: { tokens_per_minute: 2_000 } });
    await gateway.untilSecond(1);
    const usage = { prompt_tokens: 30, completion_tokens: 20 };
    const first = await ask(tenant.userKey, { max_tokens: 500, x_simulator: { usage } });
    expect(first.status).toBe(200);
    expect(Number(first.headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(1_500);
    await eventually(async () => {
      expect(await limitsOf(tenant.userKey)).toMatchObject({
        limits: [{ resource: 'tokens', window: 'minute', limit: 2_000, used: 50, remaining: 1_950 }],
      });
    });
    const more = {
      max_tokens: 500,
      x_simulator: { usage: { prompt_tokens: 500, completion_tokens: 1_400 } },
    };
    expect((await ask(tenant.userKey, more)).status).toBe(200);
    await eventually(async () => {
      expect(await limitsOf(tenant.userKey)).toMatchObject({ limits: [{ resource: 'tokens', used: 1_950 }] });
    });
    const refused = await ask(tenant.userKey, { max_tokens: 500 });
    expect(refused.body).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
  });

  it('say so when a request could never fit', async () => {
    const tenant = await gateway.makeTenant({ limits: { tokens_per_minute: 100 } });
    const refused = await ask(tenant.userKey);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('x-should-retry')).toBe('false');
    expect((refused.body as { error: { message: string } }).error.message).toMatch(/Lower max_tokens/);
    const embeddings = await gateway.call('/v1/embeddings', {
      key: tenant.userKey,
      body: { model: 'small', input: 'few' },
    });
    expect(embeddings.status).toBe(200);
    expect(embeddings.headers.get('x-ratelimit-limit-tokens')).toBe('100');
  });
});

describe('concurrency', () => {
  it('frees the slot of a client that leaves', async () => {
    const tenant = await gateway.makeTenant({ limits: { max_concurrent: 1 } });
    const leaving = new AbortController();
    const held = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { authorization: `Bearer ${tenant.userKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'small', messages, user: tenant.id, x_simulator: { delay_ms: 30_000 } }),
    }).catch(() => undefined);
    await eventually(async () => {
      expect(seen(tenant)).toBe(1);
      await Promise.resolve();
    });
    const refused = await ask(tenant.userKey);
    expect(refused.body).toMatchObject({ error: { code: 'rate_limit_exceeded', type: 'rate_limit_error' } });
    expect(refused.headers.get('retry-after')).toBe('1');
    leaving.abort();
    await held;
    await eventually(async () => {
      expect((await ask(tenant.userKey)).status).toBe(200);
    });
  });
});

describe('a budget', () => {
  it('lets nothing through that might pass it, and says that waiting does not help', async () => {
    const tenant = await gateway.makeTenant({ budget: { usd: '0.0006', period: 'day' } });
    const usage = { prompt_tokens: 100, completion_tokens: 100 };
    const call = { model: 'priced', max_tokens: 100, user: tenant.id, x_simulator: { usage } };
    expect((await ask(tenant.userKey, call)).status).toBe(200);
    await eventually(async () => {
      expect(await limitsOf(tenant.userKey)).toMatchObject({
        limits: [{ resource: 'budget', window: 'day', used: '0.000300000000', remaining: '0.000300000000' }],
      });
    });
    const refused = await ask(tenant.userKey, call);
    expect(refused.status).toBe(429);
    expect(refused.body).toMatchObject({ error: { type: 'insufficient_quota', code: 'insufficient_quota' } });
    expect(refused.headers.get('x-should-retry')).toBe('false');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(seen(tenant)).toBe(1);
  });

  it('makes a request wait while others have reserved what is left of it', async () => {
    const tenant = await gateway.makeTenant({ budget: { usd: '0.05', period: 'day' } });
    const call = { model: 'priced', max_tokens: 20_000, user: tenant.id };
    const usage = { prompt_tokens: 10, completion_tokens: 10 };
    const slow = ask(tenant.userKey, { ...call, x_simulator: { usage, delay_ms: 1_500 } });
    await eventually(() => expect(seen(tenant)).toBe(1));
    expect(await limitsOf(tenant.userKey)).toMatchObject({
      limits: [{ used: '0.000000000000', reserved: expect.stringMatching(/^0\.0[45]/) as unknown }],
    });
    const next = await ask(tenant.userKey, { ...call, x_simulator: { usage } });
    expect(next.status).toBe(200);
    expect(next.headers.get('x-gateway-max-tokens')).toBeNull();
    expect((await slow).status).toBe(200);
    await eventually(async () => {
      expect(await limitsOf(tenant.userKey)).toMatchObject({
        limits: [{ used: '0.000060000000', reserved: '0.000000000000', remaining: '0.049940000000' }],
      });
    });
  });

  it.each([false, true])('that can’t hold a whole answer lowers its limit (stream: %s)', async (stream) => {
    const tenant = await gateway.makeTenant({ budget: { usd: '0.05', period: 'day' } });
    const fields = { model: 'priced', stream, max_tokens: 128_000, user: tenant.id };
    const { status, headers } = await ask(tenant.userKey, fields);
    expect(status).toBe(200);
    const lowered = Number(headers.get('x-gateway-max-tokens'));
    expect(lowered).toBeGreaterThan(24_000);
    expect(lowered).toBeLessThan(25_000);
    const sent = gateway.simulator.requests.find(
      ({ body }) => (body as { user?: string }).user === tenant.id,
    );
    expect(sent?.body).toMatchObject({ max_tokens: lowered });
    const thinking = { budget_tokens: 30_000 };
    const refused = await ask(tenant.userKey, { ...fields, thinking });
    expect(refused.body).toMatchObject({ error: { code: 'insufficient_quota' } });
  });

  it('is charged for streams that are cut, and for what a provider reports beyond the reservation', async () => {
    const tenant = await gateway.makeTenant({ budget: { usd: '1', period: 'month' } });
    const usage = { prompt_tokens: 100_000, completion_tokens: 50_000 };
    await ask(tenant.userKey, { model: 'priced', max_tokens: 1, x_simulator: { usage } });
    await ask(tenant.userKey, {
      model: 'priced',
      stream: true,
      x_simulator: { chunks: 4, cut: 'mid_stream' },
    });
    await eventually(async () => {
      const [row] = await gateway.rows(
        'analytics',
        `select sum(cost_pico)::text as cost, count(*)::integer as runs
         from analytics.traces where tenant_id = $1 and ended_at is not null`,
        [tenant.id],
      );
      expect(row).toMatchObject({ runs: 2 });
      const { limits } = (await limitsOf(tenant.userKey)) as { limits: { used: string }[] };
      expect(picoOf(limits[0]?.used ?? '')).toBe(BigInt(String(row?.['cost'])));
      expect(limits[0]?.used).toMatch(/^0\.2000/);
      const [open] = await gateway.rows(
        'chat',
        'select (select count(*) from chat.run_costs) + (select count(*) from chat.settlements) = 0 as none',
      );
      expect(open).toEqual({ none: true });
    });
  });

  it('needs models with a price', async () => {
    const tenant = await gateway.makeTenant({ budget: { usd: '1', period: 'day' } });
    const refused = await ask(tenant.userKey);
    expect(refused.status).toBe(403);
    expect(refused.body).toMatchObject({
      error: { type: 'permission_error', code: 'model_unpriced', param: 'model' },
    });
  });
});
