import { expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { maxEventBytes } from './cloud-event.ts';
import { requestsRefusedData, writeRequestsRefused } from './refused-event.ts';
import { firstEntries, RefusedRequests, type RefusedRequest } from './refused-requests.ts';

const now = new Date('2026-01-10T09:15:00Z');

const requestOf = (tenantId: string, fields: Partial<RefusedRequest> = {}): RefusedRequest => ({
  tenant_id: tenantId,
  code: 'rate_limit_exceeded',
  message: 'The limit of 10 requests per minute is reached.',
  operation: 'chat',
  model: 'small',
  request_model: 'small',
  agent_id: null,
  channel: 'api',
  dialect: 'chat',
  client: 'curl',
  user_id: null,
  api_key_id: null,
  request_id: newId(),
  trace_id: '0af7651916cd43dd8448eb211c80319c',
  session_id: null,
  ...fields,
});

it('counts requests that are alike together, each with the facts of its own', () => {
  const [refused, tenantId] = [new RefusedRequests(), newId()];
  for (let sent = 0; sent < 3; sent += 1) refused.note(requestOf(tenantId), now);
  refused.note(requestOf(tenantId, { code: 'model_not_found' }), now);
  const entries = refused.take();
  expect(entries.map(({ code, count, details }) => [code, count, details.length])).toEqual([
    ['rate_limit_exceeded', 3, 3],
    ['model_not_found', 1, 1],
  ]);
  expect(refused.isEmpty).toBe(true);
  expect(refused.take()).toEqual([]);
});

it('has a bound for a tenant that floods it, and room for others beside it', () => {
  const [refused, flooding, other] = [new RefusedRequests(), newId(), newId()];
  for (let sent = 0; sent < 50_000; sent += 1)
    refused.note(requestOf(flooding, { model: `model-${sent % 5_000}` }), now);
  refused.note(requestOf(other), now);
  const entries = refused.take();
  const own = entries.filter(({ tenant_id: tenantId }) => tenantId === flooding);
  expect(own.reduce((sum, { count }) => sum + count, 0)).toBe(50_000);
  expect(own).toHaveLength(201);
  expect(own.at(-1)).toMatchObject({ code: 'rate_limit_exceeded', model: '', count: 48_000, details: [] });
  expect(own.reduce((sum, { details }) => sum + details.length, 0)).toBe(1_000);
  expect(entries.at(-1)).toMatchObject({ tenant_id: other, count: 1, details: [{}] });
});

it('has facts of 1,000 requests of an hour of a tenant, and counts all of them', () => {
  const [refused, tenantId] = [new RefusedRequests(), newId()];
  const detailsAt = (at: Date): number => {
    for (let model = 0; model < 10; model += 1)
      for (let sent = 0; sent < 80; sent += 1)
        refused.note(requestOf(tenantId, { model: `model-${model}` }), at);
    const entries = refused.take();
    expect(entries.reduce((sum, { count }) => sum + count, 0)).toBe(800);
    return entries.reduce((sum, { details }) => sum + details.length, 0);
  };
  const nextHour = new Date(now.getTime() + 3_600_000);
  expect([detailsAt(now), detailsAt(now), detailsAt(now), detailsAt(nextHour)]).toEqual([800, 200, 0, 800]);
});

it('has a bound for all tenants together, beyond which each is counted by code', () => {
  const refused = new RefusedRequests();
  const tenants = Array.from({ length: 300 }, () => newId());
  for (const tenantId of tenants)
    for (let model = 0; model < 100; model += 1)
      refused.note(requestOf(tenantId, { model: `model-${model}` }), now);
  const entries = refused.take();
  expect(entries).toHaveLength(20_100);
  expect(entries.reduce((sum, { count }) => sum + count, 0)).toBe(30_000);
  expect(new Set(entries.map(({ tenant_id: tenantId }) => tenantId)).size).toBe(300);
});

it('writes events that a reader takes, whatever clients sent', () => {
  const refused = new RefusedRequests();
  const types = Object.fromEntries(
    Array.from({ length: 8 }, (_, type) => [`${type}`.padEnd(64, 'x'), 9_999]),
  );
  const result = { name: 'x'.repeat(128), on: 'user', outcome: 'blocked', types } as const;
  const texts = {
    ...{ request_model: '\ud800\0'.repeat(200), message: '\u4e2d'.repeat(5_000) },
    guardrails: Array.from({ length: 9 }, () => ({
      ...result,
      duration_ms: 9_999,
      cost_pico: '9'.repeat(30),
    })),
  };
  for (let tenant = 0; tenant < 20; tenant += 1) {
    const tenantId = newId();
    for (let sent = 0; sent < 400; sent += 1)
      refused.note(
        requestOf(tenantId, { ...texts, user_id: tenant === 0 ? null : `user-${sent % 100}` }),
        now,
      );
  }
  const entries = refused.take();
  const events: string[] = [];
  for (let from = 0; from < entries.length;) {
    const first = firstEntries(entries, from);
    events.push(writeRequestsRefused('gatehouse/chat', now, first).json);
    from += first.length;
  }
  expect(events.length).toBeGreaterThan(1);
  for (const json of events) {
    expect(Buffer.byteLength(json)).toBeLessThan(maxEventBytes);
    const { data } = JSON.parse(json) as { data: unknown };
    expect(requestsRefusedData.parse(data)).toEqual(data);
    expect(json).not.toMatch(/\\u0000|\\ud800/);
  }
});

it('reads no more entries than one event has', () => {
  const refused = new RefusedRequests();
  for (let tenant = 0; tenant < 11; tenant += 1) {
    const tenantId = newId();
    for (let model = 0; model < 100; model += 1)
      refused.note(requestOf(tenantId, { model: `${model}` }), now);
  }
  const entries = refused.take();
  const unread = { toJSON: () => expect(null).toBe('not read') };
  const first = firstEntries(
    entries.map((entry, index) => (index < 1_000 ? entry : { ...entry, ...unread })),
  );
  expect(first.length).toBeGreaterThan(200);
  expect(first.length).toBeLessThanOrEqual(1_000);
});

it('counts requests by the quarter of an hour in which they were refused', () => {
  const [refused, tenantId] = [new RefusedRequests(), newId()];
  for (const minutes of [0, 14, 15, 40])
    refused.note(requestOf(tenantId), new Date(now.getTime() + minutes * 60_000));
  expect(refused.take().map(({ refused_at: at, count }) => [at, count])).toEqual([
    ['2026-01-10T09:15:00.000Z', 2],
    ['2026-01-10T09:30:00.000Z', 1],
    ['2026-01-10T09:55:00.000Z', 1],
  ]);
});
