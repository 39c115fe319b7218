import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import fc from 'fast-check';
import type { Dimension } from '@gatehouse/contract/usage';
import type { OwnerUsageStore } from '../src/usage/usage-store.ts';
import type { Group, SummaryRequest, Totals } from '../src/usage/summary.ts';
import {
  dayMs,
  eventsOf,
  firstDay,
  keys,
  makeRun,
  makeRuns,
  SettlingGround,
  zones,
  zonesOfTenants,
} from './daily-rollup-fixture.ts';
import { correction } from './event-fixture.ts';
import { noFilter } from './ingest-fixture.ts';

const tenants = [newId(), newId(), newId(), newId()];
const idle = newId();
let ground: SettlingGround;
let owner: OwnerUsageStore;

beforeAll(async () => {
  ground = await SettlingGround.start();
  owner = ground.fixture.stores.ownerUsage;
  for (const [index, tenant] of tenants.entries()) {
    zones.set(tenant, zonesOfTenants[index] ?? 'UTC');
    await ground.fixture.count(eventsOf(makeRuns(tenant, 60 + 40 * index, 1_000 * index)));
  }
  await ground.makeSettling().settle();
  // Late runs and corrections change days that are added up, and the last runs are in no roll-up.
  const late = tenants.slice(0, 2).flatMap((tenant) => makeRuns(tenant, 15, 5_000));
  await ground.fixture.count(eventsOf(late));
  const exact = { input_tokens: 77, cost_pico: '123456789012345678901234', status: 'ok' as const };
  const corrected = makeRuns(tenants[2] ?? '', 5, 6_000);
  await ground.fixture.count(eventsOf(corrected.map((run) => ({ ...run, status: 'interrupted' as const }))));
  await ground.fixture.ingest.take(corrected.map((run) => correction({ ...run, ...exact })));
  await ground.fixture.ingest.take(eventsOf([makeRun(tenants[3] ?? '', 7_001), makeRun(newId(), 7_002)]));
});
afterAll(() => ground.stop());

/** The figures that add up. */
type Sums = Record<string, bigint>;

function sumsOf({ avgDurationMs: _, unpricedModels: _models, ...totals }: Totals): Sums {
  return Object.fromEntries(
    Object.entries(totals).flatMap(([name, value]) =>
      typeof value === 'number' || typeof value === 'bigint' ? [[name, BigInt(value)]] : [],
    ),
  );
}

function added(all: readonly Sums[]): Sums {
  const sums: Sums = {};
  for (const one of all)
    for (const [name, value] of Object.entries(one)) sums[name] = (sums[name] ?? 0n) + value;
  return sums;
}

/** The figures of groups in summaries of costs. */
const costFigures = new Set(['requests', 'costPico', 'unpricedRequests']);

function byKey(groups: readonly Group[], figures: SummaryRequest['figures']): Map<string, Sums> {
  const sums = new Map<string, Sums>();
  for (const { key, ...totals } of groups) {
    const label = JSON.stringify(key);
    const shown = Object.entries(sumsOf(totals)).filter(
      ([name]) => figures !== 'costs' || costFigures.has(name),
    );
    sums.set(label, added([sums.get(label) ?? {}, Object.fromEntries(shown)]));
  }
  return sums;
}

/** Every tenant with a run, also those with one that is in no roll-up. */
async function everyTenant(): Promise<string[]> {
  const { rows } = await ground.admin.query<{ tenant_id: string }>(
    'select distinct tenant_id from analytics.traces',
  );
  return [...rows.map((row) => row.tenant_id), idle];
}

async function expectSumOfTenants(request: SummaryRequest): Promise<void> {
  const all = await owner.summarize(null, request);
  const ids = await everyTenant();
  const each = await Promise.all(ids.map((tenant) => ground.usage.summarize(tenant, request)));
  expect(sumsOf(all.totals)).toEqual(added(each.map(({ totals }) => sumsOf(totals))));
  expect(all.totals.unpricedModels).toEqual(
    [...new Set(each.flatMap(({ totals }) => totals.unpricedModels))].toSorted(),
  );
  const { groupBy, figures } = request;
  expect(byKey(all.groups, figures)).toEqual(
    byKey(
      each.flatMap(({ groups }) => groups),
      figures,
    ),
  );
  if (groupBy.length === 3) return;
  const byTenant = await owner.summarize(null, { ...request, groupBy: ['tenant', ...groupBy] });
  const withTenant = each.flatMap(({ groups, totals }, index) => {
    const tenant = ids[index] ?? '';
    if (groupBy.length === 0) return totals.requests === 0 ? [] : [{ ...totals, key: { tenant } }];
    return groups.map((group) => ({ ...group, key: { tenant, ...group.key } }));
  });
  expect(byKey(byTenant.groups, figures)).toEqual(byKey(withTenant, figures));
}

const groupings: readonly (readonly Dimension[])[] = [
  [],
  ['model'],
  ['day'],
  ['hour'],
  ['month', 'provider'],
  ['agent', 'day'],
  ['api_key'],
  ['client', 'dialect', 'channel'],
];

const requests = fc.record({
  from: fc.integer({ min: -dayMs, max: 3 * dayMs }),
  length: fc.integer({ min: 1, max: 5 * dayMs }),
  groupBy: fc.constantFrom(...groupings),
  timezone: fc.constantFrom(...zonesOfTenants, 'Australia/Lord_Howe'),
  figures: fc.constantFrom('usage' as const, 'costs' as const),
  model: fc.constantFrom(null, null, 'small'),
  apiKeyId: fc.constantFrom(null, null, keys[0] ?? null),
});

it('the sums over all tenants are those of the tenants, for any period, zone and grouping', async () => {
  await fc.assert(
    fc.asyncProperty(requests, async ({ from, length, groupBy, timezone, figures, model, apiKeyId }) => {
      const start = firstDay + from;
      const period = { from: new Date(start), to: new Date(start + length) };
      const filter = { ...noFilter, model, apiKeyId };
      await expectSumOfTenants({ period, filter, groupBy, timezone, figures });
    }),
    { numRuns: 60 },
  );
});

it('with a tenant, the summary is the one that the tenant gets', async () => {
  const period = { from: new Date(firstDay), to: new Date(firstDay + 4 * dayMs) };
  for (const groupBy of groupings) {
    const request = { period, filter: noFilter, groupBy, timezone: 'Europe/Berlin' };
    const [tenant = ''] = tenants;
    expect(await owner.summarize(tenant, request)).toEqual(await ground.usage.summarize(tenant, request));
  }
});
