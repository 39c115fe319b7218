import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Received } from '@gatehouse/events/dead-letters';
import type { RunEnded, RunStarted } from '@gatehouse/events/run-event';
import { writeWatermark } from '@gatehouse/events/watermark';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { Client } from 'pg';
import type { UsageConsumer } from '../src/ingest/usage-consumer.ts';
import { forget } from '../src/forgetting/forget-user-job.ts';
import { foldRuns } from '../src/rollups/rollup-job.ts';
import type { SummaryRequest } from '../src/usage/summary.ts';
import type { UsageStore } from '../src/usage/usage-store.ts';
import { correction, makeCall, makeEnd, makeStart, received } from './event-fixture.ts';
import { noFilter, startIngest, type IngestFixture } from './ingest-fixture.ts';

const hourMs = 3_600_000;
const quarterMs = hourMs / 4;
/** In the middle of a quarter of an hour. */
const interruptedAt = Math.floor(Date.now() / hourMs) * hourMs - hourMs + quarterMs / 2;

let fixture: IngestFixture;
let ingest: UsageConsumer;
let usage: UsageStore;
let admin: Client;
beforeAll(async () => {
  fixture = await startIngest();
  ({ ingest } = fixture);
  usage = fixture.stores.usage;
  admin = new Client({ connectionString: fixture.database.adminUrl });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await fixture.stop();
});

/** The events of a run that was taken for interrupted and has come to an exact end. */
interface Story {
  start: Received;
  estimated: Received;
  exact: Received;
  end: RunEnded;
}

function makeStory(
  identity: Partial<RunStarted> = {},
  exact: Partial<RunEnded> = {},
  fields: Partial<RunEnded> = {},
): Story {
  const start = makeStart({ started_at: new Date(interruptedAt - 20_000).toISOString(), ...identity });
  const estimated = makeEnd({
    ...start,
    status: 'interrupted',
    ended_at: new Date(interruptedAt).toISOString(),
    input_tokens: 250,
    output_tokens: 0,
    cost_pico: '500',
    usage_estimated: true,
    error_type: 'interrupted',
    ...fields,
  });
  const end = makeEnd({ ...start, ended_at: new Date(interruptedAt + 20_000).toISOString(), ...exact });
  return { start: received(start), estimated: received(estimated), exact: correction(end), end };
}

async function summarize(tenant: string, request: Partial<SummaryRequest> = {}) {
  return usage.summarize(tenant, {
    period: { from: new Date(interruptedAt - 12 * hourMs), to: new Date(interruptedAt + 12 * hourMs) },
    filter: noFilter,
    groupBy: [],
    timezone: 'UTC',
    ...request,
  });
}

/** All roll-ups of a tenant as they are stored, without its id, once all runs are folded. */
async function rollUps(tenant: string): Promise<unknown> {
  await foldRuns(fixture.stores.rollups);
  const found: Record<string, unknown> = {};
  for (const table of ['usage', 'usage_totals', 'usage_users', 'unpriced_models']) {
    const { rows } = await admin.query<{ row: object }>(
      `select to_jsonb(t) - 'tenant_id' as row from analytics.${table} t where tenant_id = $1 order by 1`,
      [tenant],
    );
    found[table] = rows.map(({ row }) => row);
  }
  return found;
}

async function traceOf(run: RunEnded): Promise<Record<string, unknown> | undefined> {
  const { rows } = await admin.query<Record<string, unknown>>(
    `select status, ended_at, input_tokens::integer, output_tokens::integer, cost_pico::text, usage_estimated,
            error_type, change_number::integer as change
     from analytics.traces where id = $1`,
    [run.run_id],
  );
  return rows[0];
}

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, index) =>
    permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]),
  );
}

describe('an exact end after an estimated one', () => {
  it('is what counts, whatever the order of the events, alone or in a batch, also when they come again', async () => {
    const identity = { user_id: 'ann', api_key_id: newId(), agent_id: newId(), session_id: 'one' };
    const shared = { ...identity, dialect: 'messages', client: 'codex' } as const;
    const control = newId();
    await ingest.take([received(makeStory({ tenant_id: control, ...shared }).end)]);
    const wanted = await rollUps(control);
    for (const order of permutations(['start', 'estimated', 'exact'] as const))
      for (const [together, folds] of [
        [true, false],
        [false, false],
        [false, true],
      ]) {
        const tenant = newId();
        const story = makeStory({ tenant_id: tenant, ...shared });
        const events = order.map((name) => story[name]);
        for (const batch of together ? [events] : events.map((event) => [event]))
          await (folds ? fixture.count(batch) : ingest.take(batch));
        expect({ order, rollUps: await rollUps(tenant) }).toEqual({ order, rollUps: wanted });
        const trace = await traceOf(story.end);
        expect(trace).toMatchObject({ status: 'ok', input_tokens: 10, cost_pico: '1000', error_type: null });
        expect(trace?.['ended_at']).toEqual(new Date(story.end.ended_at));
        await Promise.all([ingest.take(events), ingest.take(events.toReversed())]);
        for (const event of events) await ingest.take([event]);
        expect(await rollUps(tenant)).toEqual(wanted);
        // It has not moved in `follow` again.
        expect(await traceOf(story.end)).toEqual(trace);
      }
  });

  it('comes once more in follow', async () => {
    const story = makeStory();
    await fixture.count([story.start, story.estimated]);
    const before = await traceOf(story.end);
    await ingest.take([story.exact]);
    expect(Number((await traceOf(story.end))?.['change'])).toBeGreaterThan(Number(before?.['change']));
  });

  it('moves to the quarter of an hour, the model and the provider in which it ended', async () => {
    const tenant_id = newId();
    const moved = { ended_at: new Date(interruptedAt + 2 * quarterMs).toISOString(), model: 'large' };
    const story = makeStory({ tenant_id }, { ...moved, provider: 'other' }, { provider: 'unknown' });
    await fixture.count([story.estimated]);
    await ingest.take([story.exact]);
    const summary = await summarize(tenant_id, { groupBy: ['model', 'provider', 'hour'] });
    expect(summary.totals).toMatchObject({ requests: 1, errors: 0, estimatedRequests: 0, costPico: 1_000n });
    expect(summary.groups.map(({ key }) => key)).toEqual([
      expect.objectContaining({ model: 'large', provider: 'other' }),
    ]);
  });

  it('leaves the other runs in the same rows, and their users', async () => {
    const shared = { tenant_id: newId(), api_key_id: newId() };
    const other = makeEnd({ ...shared, user_id: 'ann', ended_at: new Date(interruptedAt).toISOString() });
    const next = { ended_at: new Date(interruptedAt + quarterMs).toISOString() };
    const ann = makeStory({ ...shared, user_id: 'ann' }, next);
    const bob = makeStory({ ...shared, user_id: 'bob' }, next);
    await fixture.count([received(other), ann.estimated, bob.estimated]);
    await ingest.take([ann.exact, bob.exact]);
    const inBucket = (start: number) => ({
      period: { from: new Date(start), to: new Date(start + quarterMs) },
    });
    const first = Math.floor(interruptedAt / quarterMs) * quarterMs;
    expect((await summarize(shared.tenant_id, inBucket(first))).totals).toMatchObject({
      requests: 1,
      uniqueUsers: 1,
      estimatedRequests: 0,
    });
    expect((await summarize(shared.tenant_id, inBucket(first + quarterMs))).totals).toMatchObject({
      requests: 2,
      uniqueUsers: 2,
    });
  });

  it('counts nothing if no provider was called after all', async () => {
    const unsent = [makeCall({ status: 'not_sent', input_tokens: 0, output_tokens: 0 })];
    const story = makeStory({ user_id: 'ann' }, { status: 'error', spans: unsent, input_tokens: 0 });
    await fixture.count([story.estimated]);
    await ingest.take([story.exact]);
    expect(await rollUps(story.end.tenant_id)).toEqual({
      usage: [],
      usage_totals: [],
      usage_users: [],
      unpriced_models: [],
    });
    expect(await traceOf(story.end)).toMatchObject({ status: 'error' });
  });

  it('names the models without a price of the runs that are left', async () => {
    const unpriced = { priced: false, cost_pico: null };
    const spansOf = (model: string) => [makeCall({ model, cost_pico: null })];
    const shared = { tenant_id: newId(), api_key_id: newId() };
    const [first, second] = [
      makeStory(shared, {}, { ...unpriced, spans: spansOf('a') }),
      makeStory(shared, {}, { ...unpriced, spans: spansOf('b') }),
    ];
    await fixture.count([first.estimated, second.estimated]);
    const named = async () => (await summarize(shared.tenant_id)).totals.unpricedModels;
    expect(await named()).toEqual(['a', 'b']);
    await ingest.take([first.exact]);
    expect(await named()).toEqual(['b']);
    await ingest.take([second.exact]);
    expect(await named()).toEqual([]);
  });

  it('leaves a model without a price to the clients whose runs are left', async () => {
    const shared = { tenant_id: newId(), api_key_id: newId() };
    const unpriced = { priced: false, cost_pico: null, spans: [makeCall({ model: 'a', cost_pico: null })] };
    const first = makeStory({ ...shared, dialect: 'messages', client: 'codex' }, {}, unpriced);
    const second = makeStory({ ...shared, session_id: 'one' }, {}, unpriced);
    const third = makeStory({ ...shared, session_id: 'two' }, {}, unpriced);
    await fixture.count([first.estimated, second.estimated, third.estimated]);
    await ingest.take([first.exact, third.exact]);
    const named = async (dialect: string) =>
      (await summarize(shared.tenant_id, { filter: { ...noFilter, dialect } })).totals.unpricedModels;
    expect([await named('messages'), await named('chat')]).toEqual([[], ['a']]);
  });

  it('keeps the sums equal to the runs while others are counted by several replicas', async () => {
    const tenant_id = newId();
    const stories = Array.from({ length: 60 }, (_, index) =>
      makeStory({ tenant_id, user_id: `user ${index % 7}`, api_key_id: null }),
    );
    const others = Array.from({ length: 300 }, (_, index) =>
      received(
        makeEnd({
          tenant_id,
          user_id: `user ${index % 11}`,
          api_key_id: null,
          ended_at: new Date(interruptedAt).toISOString(),
        }),
      ),
    );
    const batches = stories.map(({ estimated }, index) => [
      ...others.slice(index * 5, index * 5 + 5),
      estimated,
    ]);
    await Promise.all(
      batches.map((batch, index) => (index % 5 === 0 ? fixture.count(batch) : ingest.take(batch))),
    );
    await Promise.all([
      ...stories.slice(0, 5).map(() => foldRuns(fixture.stores.rollups)),
      ...stories.map(({ exact }) => ingest.take([exact])),
      ...batches.toReversed().map((batch) => ingest.take(batch)),
      ...stories.map(({ exact }) => ingest.take([exact])),
    ]);
    const { totals } = await summarize(tenant_id);
    expect(totals).toMatchObject({
      requests: 360,
      uniqueUsers: 11,
      estimatedRequests: 0,
      inputTokens: 3_600,
    });
    const byUser = await summarize(tenant_id, { groupBy: ['user'] });
    expect(byUser.groups.reduce((sum, { requests }) => sum + requests, 0)).toBe(360);
  });

  it('of a user whose deletion is under way is counted for the pseudonym alone once it is complete', async () => {
    const tenantId = newId();
    const shared = { tenant_id: tenantId, user_id: 'ada', api_key_id: null };
    const running = makeStory(shared);
    const interrupted = makeStory(shared);
    const before = makeEnd({ ...shared, ended_at: new Date(interruptedAt).toISOString() });
    await fixture.count([running.start, interrupted.estimated, received(before)]);
    const forgetting = { store: fixture.stores.deletions, settleMs: 200 };
    const deletion = { tenantId, userId: 'ada', requestedAt: new Date() };
    // The traces have the pseudonym, and the roll-ups the user.
    expect(await forget(deletion, forgetting)).toMatchObject({ traces: 3, completed: false });
    await ingest.take([running.estimated, interrupted.exact, running.exact]);
    await eventually(async () => expect((await forget(deletion, forgetting)).completed).toBe(true));
    const { totals, groups } = await summarize(tenantId, { groupBy: ['user'] });
    expect(totals).toMatchObject({ requests: 3, inputTokens: 30, estimatedRequests: 0, uniqueUsers: 1 });
    expect(groups).toEqual([
      expect.objectContaining({ key: { user: expect.stringMatching(/^forgotten-/) }, requests: 3 }),
    ]);
  });

  it('keeps its difference if it comes after the traces have the pseudonym and before the roll-ups do', async () => {
    const tenantId = newId();
    const story = makeStory({ tenant_id: tenantId, user_id: 'ada', api_key_id: null });
    await fixture.count([story.start, story.estimated]);
    const user = { tenantId, userId: 'ada' };
    const pseudonym = `forgotten-${newId()}`;
    await fixture.stores.deletions.noteDeletion(user, { requestedAtMs: Date.now(), pseudonym });
    expect(await fixture.stores.deletions.forgetTraces(user, 0)).toEqual({ changed: 1, more: false });
    await ingest.take([story.exact]);
    await eventually(async () => expect((await fixture.stores.deletions.forgetUsage(user)).done).toBe(true));
    const { totals, groups } = await summarize(tenantId, { groupBy: ['user'] });
    expect(totals).toMatchObject({ requests: 1, inputTokens: 10, costPico: 1_000n, estimatedRequests: 0 });
    expect(groups).toEqual([expect.objectContaining({ ...totals, key: { user: pseudonym } })]);
  });

  it('is stored before the watermark that follows it', async () => {
    const story = makeStory();
    const watermark = new Date(interruptedAt + 60_000).toISOString();
    const mark = writeWatermark('corrections', { partition: 0, partitions: 1, watermark });
    await admin.query(`create function public.fail() returns trigger language plpgsql as
      $$ begin raise exception 'no' using errcode = '57P01'; end $$`);
    await admin.query(
      'create trigger fail before insert or update on analytics.traces for each row execute function public.fail()',
    );
    const batch = [story.exact, { origin: 'test', payload: Buffer.from(mark) }];
    await expect(ingest.take(batch)).rejects.toThrow();
    const marked = async (): Promise<unknown> =>
      (await admin.query<object>(`select watermark from analytics.watermarks where source = 'corrections'`))
        .rows;
    expect(await marked()).toEqual([]);
    await admin.query('drop trigger fail on analytics.traces; drop function public.fail()');
    await ingest.take(batch);
    expect(await marked()).toEqual([{ watermark: new Date(watermark) }]);
    expect((await summarize(story.end.tenant_id)).totals.requests).toBe(1);
  });

  it('of a run that is too old counts only if its row is still there', async () => {
    const old = '00000000-0001-7000-8000-00000000000';
    const lost = makeStory({ run_id: `${old}1` });
    await ingest.take([lost.exact]);
    expect((await summarize(lost.end.tenant_id)).totals.requests).toBe(0);
    const { rows } = await admin.query('select reason from analytics.dead_letters where reason like $1', [
      'too late%',
    ]);
    expect(rows).toHaveLength(1);
  });
});
