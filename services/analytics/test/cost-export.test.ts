import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CostSummary, UsageSummary } from '@gatehouse/contract/usage';
import { csvMark } from '@gatehouse/kit/csv';
import { newId } from '@gatehouse/kit/ids';
import { picoOf, usdOf } from '@gatehouse/kit/money';
import type { As } from '@gatehouse/test/service-under-test';
import { parse } from 'csv-parse/sync';
import { AnalyticsHarness, endOf, startOf } from './analytics-harness.ts';
import { addUsage, type UsageRow } from './usage-rows.ts';

type Row = Record<string, string>;

let harness: AnalyticsHarness;
beforeAll(async () => {
  harness = await AnalyticsHarness.start();
});
afterAll(() => harness.stop());

/** The text of an export, and its rows as a parser of others reads them. */
async function exported(query: string, as: As): Promise<{ text: string; rows: Row[]; headers: Headers }> {
  const { status, body, headers } = await harness.call('GET', `/v1/costs/export?${query}`, { as });
  expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
  const text = String(body);
  const rows = parse<Row>(text, { columns: true, relax_quotes: false });
  expect(headers.get('x-gateway-rows')).toBe(String(rows.length));
  return { text, rows, headers };
}

const sumOf = (rows: readonly Row[], column: string): string =>
  usdOf(rows.reduce((sum, row) => sum + picoOf(row[column] ?? ''), 0n));

const countOf = (rows: readonly Row[], column: string): number =>
  rows.reduce((sum, row) => sum + Number(row[column]), 0);

describe('an export of days of summer time and of the end of a month', () => {
  const tenantId = newId();
  const as = { tenantId };
  const period = 'from=2026-03-27T00:00:00Z&to=2026-04-07T00:00:00Z';
  const ids = { agent: newId(), keys: [newId(), newId()] };

  beforeAll(async () => {
    const first = Date.parse('2026-03-26T12:00:00Z');
    const rows = Array.from({ length: 13 * 96 }, (_, n): UsageRow => ({
      bucket: new Date(first + n * 900_000).toISOString(),
      model: ['small', 'large', 'local'][n % 3] ?? '',
      provider: n % 7 === 0 ? '' : 'acme',
      agent_id: n % 2 === 0 ? ids.agent : null,
      user_id: ['ada', 'grace', null][n % 5] ?? null,
      api_key_id: ids.keys[n % 2] ?? '',
      cost_pico: String(1_000_000_007 * (n + 1) + 3),
      unpriced_requests: n % 3 === 2 ? 1 : 0,
    }));
    await addUsage(harness, tenantId, rows);
  });

  const zones = ['UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/St_Johns'];

  it.each(zones)('has the groups of the summary, to the last digit, in %s', async (zone) => {
    const query = `${period}&timezone=${zone}`;
    for (const groups of [['day'], ['month', 'provider'], ['day', 'model', 'user']]) {
      const by = `group_by=${groups.join(',')}`;
      const { rows } = await exported(`${query}&${by}`, as);
      const costs = (await harness.get(`/v1/costs/summary?${query}&${by}`, as)) as CostSummary;
      const usage = (await harness.get(`/v1/usage/summary?${query}&${by}`, as)) as UsageSummary;
      expect(
        rows.map((row) => [
          ...groups.map((name) => row[name]),
          ...[row['total_usd'], row['requests'], row['unpriced_requests']],
          ...[row['input_tokens'], row['output_tokens']],
        ]),
      ).toEqual(
        costs.groups.map(({ key, total_usd: total, requests, unpriced_requests: unpriced }, index) => [
          ...groups.map((name) => key[name as 'day'] ?? ''),
          ...[total, String(requests), String(unpriced)],
          ...[String(usage.groups[index]?.input_tokens), String(usage.groups[index]?.output_tokens)],
        ]),
      );
      expect(new Set(rows.map((row) => row['as_of']))).toEqual(new Set([costs.as_of]));
    }
  });

  it.each(zones)('adds up to the summary by all of its groups, in both formats, in %s', async (zone) => {
    const query = `${period}&timezone=${zone}`;
    const costs = (await harness.get(`/v1/costs/summary?${query}&group_by=day`, as)) as CostSummary;
    const { rows } = await exported(query, as);
    expect(Object.keys(rows[0] ?? {}).slice(0, 5)).toEqual(['day', 'model', 'agent', 'user', 'api_key']);
    expect(sumOf(rows, 'total_usd')).toBe(costs.total_usd);
    expect(sumOf(rows, 'estimated_usd')).toBe(costs.estimated.total_usd);
    expect(sumOf(rows, 'own_key_usd')).toBe(costs.own_key.total_usd);
    expect(countOf(rows, 'unpriced_requests')).toBe(costs.unpriced.requests);

    const focus = (await exported(`${query}&format=focus`, as)).rows;
    for (const column of ['BilledCost', 'EffectiveCost', 'ListCost', 'ContractedCost'])
      expect(sumOf(focus, column)).toBe(costs.total_usd);
    expect(countOf(focus, 'x_UnpricedRequests')).toBe(costs.unpriced.requests);
    expect(sumOf(focus, 'x_EstimatedCost')).toBe(costs.estimated.total_usd);
    // Days follow one another without a gap, and their costs are those of the summary.
    const days = [...new Set(focus.map((row) => `${row['ChargePeriodStart']} ${row['ChargePeriodEnd']}`))];
    const bounds = days.map((day) => day.split(' '));
    expect(bounds[0]?.[0]).toBe('2026-03-27T00:00:00Z');
    expect(bounds.at(-1)?.[1]).toBe('2026-04-07T00:00:00Z');
    expect(bounds.slice(1).map(([start]) => start)).toEqual(bounds.slice(0, -1).map(([, end]) => end));
    expect(
      days.map((day) =>
        sumOf(
          focus.filter((row) => day.startsWith(row['ChargePeriodStart'] ?? '-')),
          'BilledCost',
        ),
      ),
    ).toEqual(costs.groups.map(({ total_usd: total }) => total));
  });

  it('has days and months of the time zone in FOCUS', async () => {
    const { rows } = await exported(`${period}&timezone=Europe/Berlin&format=focus`, as);
    const boundsOf = (start: string): Set<string> =>
      new Set(
        rows
          .filter((row) => row['ChargePeriodStart'] === start)
          .map((row) =>
            [row['ChargePeriodEnd'], row['BillingPeriodStart'], row['BillingPeriodEnd']].join(' '),
          ),
      );
    // The day has 23 hours, as summer time begins in it.
    expect(boundsOf('2026-03-28T23:00:00Z')).toEqual(
      new Set(['2026-03-29T22:00:00Z 2026-02-28T23:00:00Z 2026-03-31T22:00:00Z']),
    );
    expect(boundsOf('2026-03-31T22:00:00Z')).toEqual(
      new Set(['2026-04-01T22:00:00Z 2026-03-31T22:00:00Z 2026-04-30T22:00:00Z']),
    );
  });

  it('has the columns of FOCUS 1.2 in its order, and what is required in each row', async () => {
    const { rows, headers } = await exported(`${period}&format=focus&model=local&user_id=ada`, as);
    expect(headers.get('content-disposition')).toBe(
      'attachment; filename="costs-2026-03-27-2026-04-07-focus.csv"',
    );
    const names = Object.keys(rows[0] ?? {});
    const standard = names.filter((name) => !name.startsWith('x_'));
    expect(names.slice(0, standard.length)).toEqual(standard.toSorted());
    expect(standard).toEqual(expect.arrayContaining(mandatory));
    for (const row of rows)
      for (const name of mandatory) expect([name, row[name] !== '']).toEqual([name, name !== 'ChargeClass']);
    expect(rows[0]).toMatchObject({
      BillingAccountId: tenantId,
      BillingCurrency: 'USD',
      ChargeCategory: 'Usage',
      ChargeClass: '',
      ChargeDescription: 'Runs of local',
      ConsumedQuantity: expect.stringMatching(/^\d+$/),
      PricingUnit: 'Tokens',
      ServiceCategory: 'AI and Machine Learning',
      ServiceSubcategory: 'Generative AI',
      ServiceName: 'local',
      x_UserId: 'ada',
      x_TimeZone: 'UTC',
    });
    expect(new Set(rows.map((row) => row['ProviderName']))).toEqual(new Set(['acme', 'Gatehouse']));
  });

  it('shows a key of a user that user alone, and no other tenant anything', async () => {
    const ofUser = { tenantId, role: 'user' as const, userId: 'ada', boundUser: 'ada' };
    const own = (await harness.get(`/v1/costs/summary?${period}`, ofUser)) as CostSummary;
    const { rows } = await exported(period, ofUser);
    expect(new Set(rows.map((row) => row['user']))).toEqual(new Set(['ada']));
    expect(sumOf(rows, 'total_usd')).toBe(own.total_usd);
    const refused = await harness.call('GET', `/v1/costs/export?${period}&user_id=grace`, { as: ofUser });
    expect(refused).toMatchObject({ status: 403, body: { error: { code: 'user_mismatch' } } });
    expect((await exported(period, { tenantId: newId() })).rows).toEqual([]);
  });

  it('has the runs at the ends of the period, up to the moment', async () => {
    const tenant = { tenantId: newId() };
    await harness.ingest(endOf(startOf({ tenant_id: tenant.tenantId, user_id: 'ada' }, 0.001)));
    const { rows } = await exported('', tenant);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ user: 'ada', requests: '1', unpriced_requests: '1', currency: 'USD' });
  });
});

const mandatory = [
  ...['BilledCost', 'BillingAccountId', 'BillingAccountName', 'BillingCurrency', 'BillingPeriodEnd'],
  ...['BillingPeriodStart', 'ChargeCategory', 'ChargeClass', 'ChargeDescription', 'ChargePeriodEnd'],
  ...['ChargePeriodStart', 'ContractedCost', 'EffectiveCost', 'InvoiceIssuerName', 'ListCost'],
  ...['PricingQuantity', 'PricingUnit', 'ProviderName', 'PublisherName', 'ServiceCategory', 'ServiceName'],
];

it('names survive a parser, and none is a formula', async () => {
  const tenantId = newId();
  const names = [
    'a "b", c',
    'two\r\nlines',
    "=cmd|' /C calc'!A0",
    '+49 30',
    '-1',
    '@SUM(A1)',
    '\tx',
    "'quoted",
  ];
  const rows = names.map((model): UsageRow => ({
    ...{ bucket: '2026-05-01T00:00:00Z', model, provider: 'p', agent_id: null, user_id: null },
    ...{ api_key_id: newId(), cost_pico: '1', unpriced_requests: 0 },
  }));
  await addUsage(harness, tenantId, rows);
  const period = 'from=2026-05-01T00:00:00Z&to=2026-05-02T00:00:00Z';
  const { text, rows: read } = await exported(`${period}&group_by=model`, { tenantId });
  expect(read.map(({ model }) => model).sort()).toEqual(
    names.map((name) => (/^[=+\-@\t]/.test(name) ? `'${name}` : name)).sort(),
  );
  expect(text.endsWith('\r\n')).toBe(true);
});

it.each([
  ['group_by=day,day', 'group_by'],
  ['group_by=day,model,agent,user,api_key,session,channel', 'group_by'],
  ['format=focus&group_by=day', 'group_by'],
  ['format=focus&from=2026-05-01T00:00:00Z&to=2026-05-02T00:00:00.5Z', 'to'],
  ['format=xml', 'format'],
  ['timezone=US/Pacific-New', 'timezone'],
  ['from=2024-01-01T00:00:00Z&to=2026-01-01T00:00:00Z', 'from'],
])('answers 400 to %s', async (query, param) => {
  const { status, body } = await harness.call('GET', `/v1/costs/export?${query}`, { as: {} });
  expect({ status, body }).toMatchObject({ status: 400, body: { error: { param } } });
});

it.each([
  ['', true],
  ['&bom=true', true],
  ['&bom=false', false],
  ['&format=focus', false],
  ['&format=focus&bom=true', false],
])('an export with %j begins with the mark of UTF-8: %s', async (query, hasMark) => {
  const path = `/v1/costs/export?from=2026-03-27T00:00:00Z&to=2026-03-28T00:00:00Z${query}`;
  const response = await fetch(`http://127.0.0.1:${harness.service.httpPort}${path}`, {
    headers: { 'x-gatehouse-assertion': await harness.identity.assertion({ tenantId: newId() }) },
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  expect([response.status, bytes.toString('utf8', 0, 3) === csvMark]).toEqual([200, hasMark]);
});
