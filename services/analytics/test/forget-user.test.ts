import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RunEnded } from '@gatehouse/events/run-event';
import { newId } from '@gatehouse/kit/ids';
import type { ForgetUserResponse } from '@gatehouse/proto/participant/v1/participant';
import { eventually } from '@gatehouse/test/eventually';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { oldDeletions } from '../src/forgetting/forget-system-pg-store.ts';
import { AnalyticsHarness, endOf, idAt, startOf } from './analytics-harness.ts';

const settleMs = 300;
const dayMs = 86_400_000;

let analytics: AnalyticsHarness;
beforeAll(async () => {
  analytics = await AnalyticsHarness.start({ retentionTimes: { firstMs: dayMs }, forgetSettleMs: settleMs });
  await analytics.makePartitions(20);
});
afterAll(() => analytics.stop());

interface Deletion {
  tenantId: string;
  userId?: string;
  at?: number;
}

async function forget({ tenantId, userId = 'ada', at = Date.now() }: Deletion): Promise<ForgetUserResponse> {
  const tenant = await analytics.peer('tenant');
  const request = { tenantId, userId, deletionId: newId(), requestedAtMs: BigInt(at) };
  return tenant.call('forgetUser', request, { deadlineMs: 10_000 });
}

/** Repeats a deletion until it is complete. */
async function forgetWholly(deletion: Deletion): Promise<void> {
  const at = deletion.at ?? Date.now();
  await eventually(async () => expect((await forget({ ...deletion, at })).completed).toBe(true));
}

/** Runs of a user that ended that many days ago. */
async function makeRuns(tenantId: string, user: string | null, ...daysAgo: number[]): Promise<RunEnded[]> {
  const runs = daysAgo.map((days) => endOf(startOf({ tenant_id: tenantId, user_id: user }, days)));
  await analytics.ingest(...runs);
  return runs;
}

interface Usage {
  totals: { requests: number; unique_users: number };
  groups?: { key: { user: string | null }; requests: number }[];
}

/** `at` in it makes the summary read whole buckets, and the runs at its ends. */
async function usage(tenantId: string, groupBy = ''): Promise<Usage> {
  const from = new Date(Date.now() - 15 * dayMs).toISOString();
  const to = new Date(Date.now() + 1_000).toISOString();
  const path = `/v1/usage/summary?from=${from}&to=${to}${groupBy}`;
  return (await analytics.get(path, { tenantId })) as Usage;
}

/** The rows of all tables that have this text in them, by table. */
async function rowsWith(text: string): Promise<string[]> {
  const tables = await analytics.rows<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'analytics'::regnamespace and relkind in ('r', 'p') and not relispartition`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await analytics.rows<{ row: string }>(
      `select to_jsonb(t)::text as row from analytics.${name} t`,
    );
    // A payload is bytes, which JSON shows in hexadecimal.
    const hex = Buffer.from(text).toString('hex');
    for (const { row } of rows) if (row.includes(text) || row.includes(hex)) found.push(name);
  }
  return found;
}

describe('sessions', () => {
  it('are cleared with their user, so that none that goes on joins pseudonym and user; amounts stay', async () => {
    const tenantId = newId();
    const run = (session: string | null, user = 'ada') =>
      endOf(startOf({ tenant_id: tenantId, user_id: user, session_id: session }, 2));
    await analytics.ingest(run('talk-1'), run('talk-2'), run(null), run('talk-3', 'grace'));
    const sums = () =>
      analytics.rows<{ requests: string; cost: string }>(
        `select sum(requests) as requests, sum(cost_pico) as cost from analytics.usage where tenant_id = $1`,
        [tenantId],
      );
    const before = await sums();
    await forgetWholly({ tenantId });
    for (const session of ['talk-1', 'talk-2']) expect(await rowsWith(session)).toEqual([]);
    expect(await rowsWith('talk-3')).toContain('traces');
    expect(await sums()).toEqual(before);
    // A run that is reported late.
    await analytics.ingest(run('talk-1'));
    expect(await rowsWith('talk-1')).toEqual([]);
    expect((await usage(tenantId)).totals.requests).toBe(5);
  });
});

const tracesOf = (tenantId: string) =>
  analytics.rows(
    `select user_id, input_preview, output_preview, error_message, cost_pico, status from analytics.traces
     where tenant_id = $1 order by id`,
    [tenantId],
  );

describe('ForgetUser', () => {
  it('clears the texts of a user’s runs and replaces the user, and keeps amounts and counts', async () => {
    const tenantId = newId();
    await makeRuns(tenantId, 'ada-l', 10, 5, 0);
    await makeRuns(tenantId, 'grace', 5);
    await makeRuns(tenantId, null, 5);
    const before = await usage(tenantId);
    expect(before.totals).toMatchObject({ requests: 5, unique_users: 2 });
    await forgetWholly({ tenantId, userId: 'ada-l' });
    expect(await rowsWith('ada-l')).toEqual([]);
    const traces = await tracesOf(tenantId);
    const pseudonym = traces[0]?.['user_id'];
    expect(pseudonym).toMatch(/^forgotten-[0-9A-Za-z]{22}$/);
    const cleared = { input_preview: null, output_preview: null, error_message: null };
    const kept = {
      input_preview: 'the question',
      output_preview: 'the answer',
      error_message: 'the complaint',
    };
    const amounts = { cost_pico: '1000000', status: 'error' };
    expect(traces).toEqual(
      expect.arrayContaining([
        { user_id: pseudonym, ...cleared, ...amounts },
        { user_id: 'grace', ...kept, ...amounts },
        { user_id: null, ...kept, ...amounts },
      ]),
    );
    expect(traces.filter(({ user_id: user }) => user === pseudonym)).toHaveLength(3);
    expect(await usage(tenantId)).toEqual({
      ...before,
      from: expect.any(String),
      to: expect.any(String),
      as_of: expect.any(String),
    });
    const { groups } = await usage(tenantId, '&group_by=user');
    expect(groups).toHaveLength(3);
    expect(groups).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ key: { user: pseudonym }, requests: 3 }),
        expect.objectContaining({ key: { user: 'grace' }, requests: 1 }),
      ]),
    );
    // Nothing links the pseudonym to the user any more.
    expect(await rowsWith(String(pseudonym))).not.toContain('forgotten_users');
  });

  it('removes the user from events that come late: starts, ends, and ends of runs that it has', async () => {
    const tenantId = newId();
    const user = `late-${newId()}`;
    const running = startOf({ tenant_id: tenantId, user_id: user }, 0.01);
    await analytics.ingest(running);
    await forgetWholly({ tenantId, userId: user });
    const late = [
      startOf({ tenant_id: tenantId, user_id: user }, 0.02),
      endOf(startOf({ tenant_id: tenantId, user_id: user }, 0.03)),
    ];
    await analytics.ingest(endOf(running), ...late);
    expect(await rowsWith(user)).toEqual([]);
    const traces = await tracesOf(tenantId);
    expect(traces).toHaveLength(3);
    for (const { input_preview, output_preview, error_message } of traces)
      expect([input_preview, output_preview, error_message]).toEqual([null, null, null]);
    expect((await usage(tenantId)).totals.requests).toBe(2);
  });

  it('finds events that were stored while the deletion began', async () => {
    const tenantId = newId();
    const at = Date.now();
    expect((await forget({ tenantId, at })).completed).toBe(false);
    // As a statement does that had not read of the deletion.
    const [run] = await makeRuns(tenantId, 'grace', 1);
    for (const table of ['traces', 'usage', 'users', 'unpriced_models'])
      await analytics.rows(`update analytics.${table} set user_id = 'ada' where tenant_id = $1`, [tenantId]);
    await forgetWholly({ tenantId, at });
    const [trace] = await tracesOf(tenantId);
    expect([run?.status, trace?.['user_id']]).toEqual(['error', expect.stringMatching(/^forgotten-/)]);
  });

  it('leaves other users, other tenants, and what the user does after the deletion', async () => {
    const [tenantId, other] = [newId(), newId()];
    await makeRuns(tenantId, 'ada', 1);
    await makeRuns(other, 'ada', 1);
    await forgetWholly({ tenantId });
    const now = Date.now() + 1;
    const back = endOf({
      ...startOf({ tenant_id: tenantId, user_id: 'ada' }),
      started_at: new Date(now + 5).toISOString(),
    });
    await analytics.ingest(back);
    const traces = await tracesOf(tenantId);
    expect(traces.at(-1)).toMatchObject({ user_id: 'ada', input_preview: 'the question' });
    expect(await tracesOf(other)).toMatchObject([{ user_id: 'ada', input_preview: 'the question' }]);
    // The run ends a moment from now.
    await eventually(async () =>
      expect((await usage(tenantId)).totals).toMatchObject({ requests: 2, unique_users: 2 }),
    );
    // A further deletion has a pseudonym of its own.
    await forgetWholly({ tenantId, at: Date.now() + 1_000 });
    const users = (await tracesOf(tenantId)).map(({ user_id: user }) => user);
    expect(new Set(users).size).toBe(2);
    expect(users.every((user) => String(user).startsWith('forgotten-'))).toBe(true);
  });

  it('goes on where it was, however many runs there are', async () => {
    const tenantId = newId();
    await analytics.rows(
      `insert into analytics.traces (id, tenant_id, status, operation, channel, request_id, trace_id, span_id, user_id,
         request_model, streamed, input_preview, started_at)
       select (left(analytics.first_id_at(now())::text, 24) || lpad(to_hex(n), 12, '0'))::uuid, $1, 'running', 'chat', 'api', '', '', '',
         case when n % 2 = 0 then 'ada' end, 'm', false, 'text', now() - interval '1 minute'
       from generate_series(1, 5000) n`,
      [tenantId],
    );
    const { counts } = await forget({ tenantId });
    expect(counts['traces']).toBe(2_500n);
    const rows = await analytics.rows(
      `select count(*) filter (where user_id is not null) as named, count(input_preview) as texts
       from analytics.traces where tenant_id = $1`,
      [tenantId],
    );
    expect(rows).toEqual([{ named: '2500', texts: '2500' }]);
  });

  it('can be asked for by several callers at once', async () => {
    const tenantId = newId();
    await makeRuns(tenantId, 'ada', 3, 2, 1);
    const at = Date.now();
    const together = () => Promise.all([1, 2, 3, 4].map(() => forget({ tenantId, at })));
    await eventually(async () => expect((await together()).every(({ completed }) => completed)).toBe(true));
    const users = (await tracesOf(tenantId)).map(({ user_id: user }) => user);
    expect(new Set(users).size).toBe(1);
    expect((await usage(tenantId)).totals).toMatchObject({ requests: 3, unique_users: 1 });
  });

  it('deletes dead letters of the user, and no others', async () => {
    const [tenantId, other] = [newId(), newId()];
    const tooLate = (tenant_id: string, user_id: string) =>
      endOf(startOf({ tenant_id, user_id, run_id: idAt(40) }, 40));
    await analytics.ingest(tooLate(tenantId, 'ada'), tooLate(tenantId, 'grace'), tooLate(other, 'ada'));
    const letters = () =>
      analytics.rows(
        `select convert_from(payload, 'UTF8')::json ->> 'user_id' as user_id from analytics.dead_letters`,
      );
    expect(await letters()).toHaveLength(3);
    await forget({ tenantId });
    expect((await letters()).map(({ user_id: user }) => user).toSorted()).toEqual(['ada', 'grace']);
  });

  it('remembers a deletion for 30 days', async () => {
    await forget({ tenantId: newId() });
    const stones = () => analytics.rows('select from analytics.forgotten_users');
    const pool = analytics.pool('analytics_system');
    for (const [days, remembered] of [
      [29, true],
      [31, false],
    ] as const) {
      await analytics.rows(
        `update analytics.forgotten_users set created_at = now() - make_interval(days => $1)`,
        [days],
      );
      await deleteOldRows(pool, oldDeletions);
      expect((await stones()).length > 0).toBe(remembered);
    }
  });

  it('is for the tenant service only, and needs a tenant and a user', async () => {
    for (const caller of ['chat', 'agent', 'memory', 'edge']) {
      const request = { tenantId: newId(), userId: 'ada', deletionId: newId(), requestedAtMs: 1n };
      const call = (await analytics.peer(caller)).call('forgetUser', request, { deadlineMs: 2_000 });
      await expect(call).rejects.toMatchObject({ code: 'caller_not_allowed' });
    }
    await expect(forget({ tenantId: 'x' })).rejects.toMatchObject({ code: 'invalid_value' });
    await expect(forget({ tenantId: newId(), userId: '' })).rejects.toMatchObject({ code: 'invalid_value' });
  });
});

describe('a run of memory', () => {
  it('has no key, and a span for the search in memory', async () => {
    const tenantId = newId();
    const recall = {
      id: newId(),
      outcome: 'ok',
      mode: 'hybrid',
      passages: 3,
      offset_ms: 2,
      duration_ms: 7,
    } as const;
    const [plain, failed] = [recall, { ...recall, outcome: 'timeout', mode: null, passages: 0 } as const].map(
      (search) =>
        endOf(startOf({ tenant_id: tenantId, api_key_id: null, channel: 'memory', recall: search }, 0.01)),
    );
    await analytics.ingest(plain ?? '', failed ?? '');
    const trace = await analytics.get(`/v1/traces/${plain?.run_id ?? ''}`, { tenantId });
    expect(trace).toMatchObject({
      api_key_id: null,
      channel: 'memory',
      spans: [
        {
          id: recall.id,
          kind: 'memory',
          name: 'search_memory',
          status: 'ok',
          provider: null,
          request_model: null,
          started_at: new Date(Date.parse(plain?.started_at ?? '') + 2).toISOString(),
          duration_ms: 7,
          cost_usd: null,
          error: null,
          memory: { passages: 3, mode: 'hybrid' },
        },
        { kind: 'llm' },
      ],
    });
    expect(await analytics.get(`/v1/traces/${failed?.run_id ?? ''}`, { tenantId })).toMatchObject({
      spans: [
        { kind: 'memory', status: 'error', error: { type: 'timeout' }, memory: { passages: 0, mode: null } },
        {},
      ],
    });
    const { groups } = (await analytics.get('/v1/usage/summary?group_by=api_key', { tenantId })) as {
      groups: unknown[];
    };
    expect(groups).toMatchObject([{ key: { api_key: null }, requests: 2 }]);
  });
});
