import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { RunEnded } from '@gatehouse/events/run-event';
import { newId } from '@gatehouse/kit/ids';
import fc from 'fast-check';
import type { Group, SummaryRequest, Totals } from '../src/usage/summary.ts';
import type { UsageStore } from '../src/usage/usage-store.ts';
import { describeStores } from './describe-stores.ts';
import { correction, makeCall, makeEnd, received } from './event-fixture.ts';
import { noFilter, startIngest, type IngestFixture } from './ingest-fixture.ts';

let fixture: IngestFixture;
let usage: UsageStore;

const minuteMs = 60_000;
const first = Math.floor(Date.now() / (15 * minuteMs)) * 15 * minuteMs - 180 * minuteMs;
const names = ['Berlin', 'Büro', 'Ops'];

const anyRun = fc.record({
  minute: fc.nat(119),
  model: fc.constantFrom('small', 'large'),
  provider: fc.constantFrom('simulator', 'other'),
  agent_id: fc.constantFrom(null, '0199a1b2-0000-7000-8000-000000000001'),
  client: fc.constantFrom('codex', null),
  api_key_id: fc.constantFrom('0199a1b2-0000-7000-8000-00000000000a', '0199a1b2-0000-7000-8000-00000000000b'),
  user: fc.constantFrom(null, 'ann', 'bob', 'eve'),
  groups: fc.subarray(names),
  status: fc.constantFrom(...(['ok', 'error', 'cancelled', 'blocked'] as const)),
  cost_pico: fc.nat(1_000_000).map(String),
  kind: fc.constantFrom('priced' as const, 'unpriced' as const, 'own_key' as const, 'estimated' as const),
  /** A run of the roll-ups, a corrected run of them, or a run they lack. */
  stored: fc.constantFrom('folded' as const, 'corrected' as const, 'fresh' as const),
});

type DrawnRun = typeof anyRun extends fc.Arbitrary<infer Run> ? Run : never;

/** A run without a user has no groups. */
function makeRun(tenantId: string, run: DrawnRun): RunEnded {
  const { minute, user, groups, kind, stored: _stored, ...fields } = run;
  const isUnpriced = kind === 'unpriced';
  return makeEnd({
    ...{ ...fields, tenant_id: tenantId, user_id: user, session_id: user === 'eve' ? 'one' : null },
    ended_at: new Date(first + minute * minuteMs + 1).toISOString(),
    ...(user !== null && { groups }),
    priced: !isUnpriced,
    usage_estimated: kind === 'estimated',
    spans: [makeCall({ model: fields.model, ...(isUnpriced && { cost_pico: null }) })],
    ...(isUnpriced && { cost_pico: null }),
    ...(kind === 'own_key' && { own_key: true }),
  });
}

const anyRequest = fc.record({
  edges: fc.constantFrom([0, 120], [7, 112], [30, 90], [3, 10]),
  filter: fc.record({
    group: fc.constantFrom(null, null, 'Berlin', 'bÜRO', 'ops', 'nothing'),
    user: fc.constantFrom(null, null, 'ann'),
    model: fc.constantFrom(null, null, 'small'),
    provider: fc.constantFrom(null, null, 'other'),
    apiKeyId: fc.constantFrom(null, null, '0199a1b2-0000-7000-8000-00000000000a'),
  }),
  groupBy: fc.constantFrom<SummaryRequest['groupBy'][number][]>(
    [],
    ['group'],
    ['group', 'model'],
    ['hour', 'group'],
    ['agent', 'group', 'user'],
    ['group', 'api_key'],
    ['user'],
    ['session', 'client'],
  ),
  figures: fc.constantFrom(undefined, 'usage' as const, 'costs' as const),
});

const keysOf = (run: RunEnded): Record<string, string | null> => ({
  user: run.user_id,
  agent: run.agent_id,
  model: run.model ?? run.request_model,
  client: run.client ?? null,
  session: run.session_id,
  api_key: run.api_key_id,
  hour: new Date(Math.floor(Date.parse(run.ended_at) / 3_600_000) * 3_600_000).toISOString(),
});

/** The labels of the groups with the run. */
function labelsOf(run: RunEnded, groupBy: SummaryRequest['groupBy']): string[] {
  const groups: (string | null)[] = run.groups === undefined || run.groups.length === 0 ? [null] : run.groups;
  const labels = groups.map((group) =>
    JSON.stringify(groupBy.map((dimension) => (dimension === 'group' ? group : keysOf(run)[dimension]))),
  );
  return groupBy.includes('group') ? labels : labels.slice(0, 1);
}

/** The figures of runs, added up one by one. */
function sumOf(runs: readonly RunEnded[], figures: SummaryRequest['figures']) {
  const paid = runs.filter((run) => run.own_key !== true);
  const costs = {
    requests: runs.length,
    costPico: paid.reduce((sum, { cost_pico: cost }) => sum + BigInt(cost ?? 0), 0n),
    unpricedRequests: paid.filter(({ priced }) => !priced).length,
  };
  if (figures === 'costs') return costs;
  const counts = {
    requests: runs.length,
    errors: runs.filter(({ status }) => status === 'error').length,
    cancelled: runs.filter(({ status }) => status === 'cancelled').length,
    blocked: runs.filter(({ status }) => status === 'blocked').length,
    inputTokens: 10 * runs.length,
    uniqueUsers: new Set(runs.flatMap(({ user_id: user }) => user ?? [])).size,
  };
  return figures === 'usage' ? counts : { ...costs, ...counts };
}

const shownOf = (totals: Totals | Group, sums: object): object =>
  Object.fromEntries(Object.keys(sums).map((name) => [name, totals[name as keyof Totals]]));

/** Stores runs: in the roll-ups, corrected in them, or in none yet. */
async function store(runs: readonly { stored: DrawnRun['stored']; end: RunEnded }[]): Promise<void> {
  const storedAs = (kind: DrawnRun['stored']): RunEnded[] =>
    runs.flatMap(({ stored, end }) => (stored === kind ? [end] : []));
  const corrected = storedAs('corrected');
  const estimates = corrected.map((end) => ({ ...end, cost_pico: '7', usage_estimated: true }));
  await fixture.count([...storedAs('folded'), ...estimates].map((end) => received(end)));
  await fixture.count(corrected.map((end) => correction(end)));
  await fixture.ingest.take(storedAs('fresh').map((end) => received(end)));
}

/** The runs of a request. */
function selected(ends: readonly RunEnded[], { period, filter }: SummaryRequest): RunEnded[] {
  const group = filter.group?.toLowerCase();
  return ends.filter(
    (run) =>
      new Date(run.ended_at) >= period.from &&
      new Date(run.ended_at) < period.to &&
      (group === undefined || run.groups?.some((name) => name.toLowerCase() === group) === true) &&
      (filter.user === null || run.user_id === filter.user) &&
      (filter.model === null || run.model === filter.model) &&
      (filter.provider === null || run.provider === filter.provider) &&
      (filter.apiKeyId === null || run.api_key_id === filter.apiKeyId),
  );
}

/** Compares a summary with the runs of the tenant, added up one by one. */
async function expectSums(tenantId: string, ends: readonly RunEnded[], request: SummaryRequest) {
  const { groupBy, figures } = request;
  const counted = selected(ends, request);
  const { totals, groups } = await usage.summarize(tenantId, request);
  const sums = sumOf(counted, figures);
  expect({ request, totals: shownOf(totals, sums) }).toEqual({ request, totals: sums });
  const unpriced = counted.flatMap(({ priced, model }) => (priced ? [] : (model ?? [])));
  expect(totals.unpricedModels).toEqual([...new Set(unpriced)].sort());
  const labelled = counted.flatMap((run) => labelsOf(run, groupBy).map((labels) => ({ labels, run })));
  const rows = groupBy.length === 0 ? [] : [...Map.groupBy(labelled, ({ labels }) => labels)];
  const shown = groups.map((group) => [
    JSON.stringify(groupBy.map((dimension) => group.key[dimension])),
    shownOf(group, sums),
  ]);
  expect({ request, groups: Object.fromEntries(shown) as unknown }).toEqual({
    request,
    groups: Object.fromEntries(rows.map(([key, some]) => [key, sumOf(runsOf(some), figures)])),
  });
}

const runsOf = (labelled: readonly { run: RunEnded }[]): RunEnded[] => labelled.map(({ run }) => run);

describeStores('sums by group', (engine) => {
  beforeAll(async () => {
    fixture = await startIngest(engine);
    usage = fixture.stores.usage;
  });
  afterAll(() => fixture.stop());

  it('counts a run in the row of each of its groups, and once in totals', async () => {
    const runs = fc.array(anyRun, { minLength: 1, maxLength: 25 });
    const requests = fc.array(anyRequest, { minLength: 6, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(runs, requests, async (drawn, some) => {
        const tenantId = newId();
        const made = drawn.map((run) => ({ stored: run.stored, end: makeRun(tenantId, run) }));
        await store(made);
        const ends = made.map(({ end }) => end);
        for (const { edges, filter, groupBy, figures } of some) {
          const [from, to] = edges.map((edge) => new Date(first + edge * minuteMs)) as [Date, Date];
          await expectSums(tenantId, ends, {
            ...{ period: { from, to }, filter: { ...noFilter, ...filter }, groupBy, timezone: 'UTC' },
            ...(figures !== undefined && { figures }),
          });
        }
      }),
      { numRuns: 40 },
    );
  });
});
