import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { trace, tracePage, type Trace } from '@gatehouse/contract/traces';
import { costSummary, usageSummary } from '@gatehouse/contract/usage';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

describe('traces, usage and costs', () => {
  let gateway: SomeGateway;
  let tenant: TenantAccess;
  let other: TenantAccess;
  beforeAll(async () => {
    gateway = await openGateway();
    tenant = await gateway.makeTenant();
    other = await gateway.makeTenant();
  });
  afterAll(() => gateway.stop());

  const get = async (path: string, key: string, headers: Record<string, string> = {}) =>
    gateway.call(path, { key, headers });
  const chat = async (access: TenantAccess, fields: Record<string, unknown> = {}, user?: string) =>
    gateway.call('/v1/chat/completions', {
      key: access.userKey,
      body: { model: 'small', messages: [{ role: 'user', content: 'Hello' }], ...fields },
      headers:
        user === undefined
          ? {}
          : { 'x-service-user-id': user, 'x-session-id': `of ${user}`, 'user-agent': agents[user] ?? '' },
    });
  const agents: Record<string, string> = { ann: 'claude-cli/2.1.332 (external, cli)', bob: 'bobs-own/1.0' };

  const refusal = (status: number, code: string, param: string | null = null): object => ({
    status,
    body: { error: { code, param } },
  });

  /** Every final trace a follower sees, in the order in which it comes. */
  async function follow(key: string, query: string, wanted: number): Promise<Trace[]> {
    const seen: Trace[] = [];
    let cursor: string | undefined;
    await eventually(async () => {
      const path = `/v1/traces/follow?${query}${cursor === undefined ? '' : `&cursor=${cursor}`}`;
      const answer = await get(path, key);
      expect(answer).toMatchObject({ status: 200 });
      const page = tracePage.parse(answer.body);
      cursor = page.next_cursor;
      seen.push(...page.traces.filter((each) => each.status !== 'running'));
      expect(seen.length).toBeGreaterThanOrEqual(wanted);
    });
    return seen;
  }

  it('show each run once, with its calls, to its tenant alone', async () => {
    const answer = await chat(tenant, {}, 'ann');
    const { usage } = answer.body as { usage: { prompt_tokens: number; completion_tokens: number } };
    await chat(tenant, { model: 'refusing-with-fallback', stream: true }, 'bob');
    await chat(other);
    const seen = await follow(tenant.adminKey, 'limit=1&include_spans=true', 2);
    expect(seen).toHaveLength(2);
    const [first, second] = seen.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    expect(first).toMatchObject({
      id: answer.headers.get('x-run-id'),
      trace_id: answer.headers.get('x-trace-id'),
      status: 'ok',
      name: 'chat small',
      channel: 'api',
      user_id: 'ann',
      provider: 'simulator',
      input_tokens: usage.prompt_tokens,
      output_tokens: usage.completion_tokens,
      usage_estimated: false,
      error: null,
      input_preview: 'Hello',
    });
    expect(second?.spans?.map((span) => [span.provider, span.status])).toEqual([
      ['refusing', 'error'],
      ['simulator', 'ok'],
    ]);
    const single = await get(`/v1/traces/${first?.id ?? ''}`, tenant.adminKey);
    expect(trace.parse(single.body).spans).toHaveLength(1);
    expect((await get(`/v1/traces/${first?.id ?? ''}`, other.adminKey)).status).toBe(404);
    expect(await get('/v1/traces/none', tenant.adminKey)).toMatchObject(refusal(404, 'not_found'));
  });

  it('shows previews to admin keys and to the user of the run', async () => {
    const ids = await follow(tenant.adminKey, 'user_id=ann', 1);
    const path = `/v1/traces/${ids[0]?.id ?? ''}`;
    expect(await get(path, tenant.userKey)).toMatchObject({ body: { input_preview: null } });
    const own = await get(path, tenant.userKey, { 'x-service-user-id': 'ann' });
    expect(own).toMatchObject({ body: { input_preview: 'Hello' } });
    // To ask for a user's runs is not to act for that user.
    const filtered = await get('/v1/traces/follow?user_id=ann', tenant.userKey);
    const shown = tracePage.parse(filtered.body).traces.map(({ input_preview: preview }) => preview);
    expect(new Set(shown)).toEqual(new Set([null]));
    expect((await get(path, tenant.userKey, { 'x-service-user-id': 'bob' })).status).toBe(404);
  });

  it('adds up usage and costs, by group, for any period', async () => {
    const totals = await eventually(async () => {
      const answer = await get('/v1/usage/summary?group_by=day,model,user', tenant.userKey);
      const summary = usageSummary.parse(answer.body);
      expect(summary.totals.requests).toBe(2);
      // Both runs ended before it.
      expect(Date.parse(summary.as_of)).toBeGreaterThan(Date.now() - 5_000);
      return summary;
    });
    const today = new Date().toISOString().slice(0, 10);
    expect(totals.groups.map((group) => group.key)).toEqual([
      { day: today, model: 'small', user: 'ann' },
      { day: today, model: 'small', user: 'bob' },
    ]);
    expect(totals.totals).toMatchObject({ unique_users: 2, errors: 0, cancelled: 0 });
    const perUser = await get('/v1/usage/summary?user_id=ann', tenant.userKey);
    expect(usageSummary.parse(perUser.body).totals).toMatchObject({ requests: 1, unique_users: 1 });
    const byClient = await get('/v1/usage/summary?group_by=client,session,dialect', tenant.userKey);
    expect(usageSummary.parse(byClient.body).groups.map((group) => group.key)).toEqual([
      { client: 'claude-code', session: 'of ann', dialect: 'chat' },
      { client: 'other', session: 'of bob', dialect: 'chat' },
    ]);
    for (const [dialect, requests] of [
      ['chat', 2],
      ['messages', 0],
    ] as const) {
      const filtered = await get(`/v1/costs/summary?dialect=${dialect}&group_by=client`, tenant.userKey);
      const { groups, unpriced } = costSummary.parse(filtered.body);
      expect([groups.length, unpriced.requests]).toEqual([requests, requests]);
    }
    const costs = costSummary.parse((await get('/v1/costs/summary?group_by=model', tenant.userKey)).body);
    expect(costs).toMatchObject({
      total_usd: '0.000000000000',
      unpriced: { requests: 2, models: ['small'] },
      groups: [{ key: { model: 'small' }, requests: 2, unpriced_requests: 2 }],
    });
    const before = await get('/v1/usage/summary?to=2026-01-01T00:00:00Z&compare=previous', tenant.userKey);
    expect(usageSummary.parse(before.body)).toMatchObject({
      from: '2025-12-31T00:00:00.000Z',
      totals: { requests: 0, avg_duration_ms: null },
      previous: { from: '2025-12-30T00:00:00.000Z', to: '2025-12-31T00:00:00.000Z' },
    });
  });

  it.each([
    ['/v1/usage/summary?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z', 'invalid_value', 'from'],
    ['/v1/usage/summary?from=2024-01-01T00:00:00Z&to=2026-01-01T00:00:00Z', 'invalid_value', 'from'],
    ['/v1/usage/summary?from=yesterday', 'invalid_value', 'from'],
    ['/v1/usage/summary?group_by=planet', 'invalid_value', 'group_by'],
    ['/v1/usage/summary?group_by=day,model,user,channel', 'invalid_value', 'group_by'],
    ['/v1/usage/summary?group_by=day,day', 'invalid_value', 'group_by'],
    ['/v1/costs/summary?timezone=Mars/Olympus', 'invalid_value', 'timezone'],
    ['/v1/costs/summary?agent_id=x', 'invalid_value', 'agent_id'],
    ['/v1/costs/summary?dialect=esperanto', 'invalid_value', 'dialect'],
    ['/v1/costs/summary?compare=next', 'invalid_value', 'compare'],
    ['/v1/costs/summary?colour=red', 'unknown_parameter', 'colour'],
    ['/v1/traces/follow?limit=0', 'invalid_value', 'limit'],
    ['/v1/traces/follow?status=done', 'invalid_value', 'status'],
    ['/v1/traces/follow?cursor=abc', 'invalid_cursor', 'cursor'],
    ['/v1/traces/follow?trace_id=abc', 'invalid_value', 'trace_id'],
  ])('refuses %s', async (path, code, param) => {
    expect(await get(path, tenant.userKey)).toMatchObject(refusal(400, code, param));
  });

  it('takes a cursor for the filters and the tenant it was given out for only', async () => {
    const page = tracePage.parse((await get('/v1/traces/follow?status=ok', tenant.userKey)).body);
    const again = `/v1/traces/follow?cursor=${page.next_cursor}`;
    expect((await get(`${again}&status=ok&limit=3`, tenant.userKey)).status).toBe(200);
    expect(await get(again, tenant.userKey)).toMatchObject(refusal(400, 'cursor_mismatch', 'cursor'));
    const foreign = await get(`${again}&status=ok`, other.userKey);
    expect(foreign).toMatchObject(refusal(400, 'cursor_mismatch', 'cursor'));
  });

  it('hold a key bound to a user to that user', async () => {
    const made = await gateway.call('/v1/api-keys', {
      key: tenant.adminKey,
      body: { name: 'bound', role: 'user', user_id: 'ann' },
    });
    const { key } = made.body as { key: string };
    const summary = usageSummary.parse((await get('/v1/usage/summary', key)).body);
    expect(summary.totals.requests).toBe(1);
    const foreign = await get('/v1/usage/summary?user_id=bob', key);
    expect(foreign).toMatchObject(refusal(403, 'user_mismatch', 'user_id'));
    const page = tracePage.parse((await get('/v1/traces/follow', key)).body);
    expect(page.traces.map((each) => each.user_id)).toEqual(['ann']);
  });
});
