import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CostSummary, UsageSummary } from '@gatehouse/contract/usage';
import { ownerCostSummary, ownerUsageSummary } from '@gatehouse/contract/usage';
import { newId } from '@gatehouse/kit/ids';
import { picoOf, usdOf } from '@gatehouse/kit/money';
import { parse } from 'csv-parse/sync';
import { AnalyticsHarness, endOf, startOf } from './analytics-harness.ts';
import { describeStores } from './describe-stores.ts';

const owner = { role: 'owner', tenantId: null, tenantSlug: null } as const;
const base = '/internal/v1/owner';
const [acme, other, unnamed] = [newId(), newId(), newId()];
const ids = { agent: newId(), key: newId() };
const secrets = ['ada@acme', 'the question', 'the answer', 'the complaint', 'order-4711'];

let harness: AnalyticsHarness;

const get = (path: string): Promise<unknown> => harness.get(`${base}${path}`, owner);
const rowsOf = async (query: string, as: object = owner): Promise<Record<string, string>[]> => {
  const { status, body } = await harness.call('GET', `${base}/costs/export?${query}`, { as });
  expect(status).toBe(200);
  return parse(String(body), { columns: true, bom: true });
};

describeStores('usage and costs for owners', (engine) => {
  beforeAll(async () => {
    harness = await AnalyticsHarness.start(undefined, engine);
    harness.tenants.push(
      { id: acme, slug: 'acme', name: 'Acme, Inc.' },
      { id: other, slug: 'other', name: '=cmd' },
    );
    harness.agents.set(acme, [{ id: ids.agent, key: 'helper', name: 'Helper' }]);
    harness.apiKeys.set(acme, [{ id: ids.key, name: 'Web shop' }]);
    const personal = {
      user_id: 'ada@acme',
      session_id: 'order-4711',
      agent_id: ids.agent,
      api_key_id: ids.key,
    };
    const runs = [acme, acme, other, unnamed].map((tenant_id, index) => ({
      ...endOf(startOf({ tenant_id, ...personal }, 0.01)),
      cost_pico: String(10 ** index),
    }));
    await harness.ingest(...runs);
  });
  afterAll(() => harness.stop());

  it('sums up all tenants, or the one that the filter names, with their slugs and names', async () => {
    const usage = (await get('/usage/summary?group_by=tenant')) as UsageSummary;
    expect(ownerUsageSummary.parse(usage)).toEqual(usage);
    expect(usage.totals).toMatchObject({ requests: 4, unique_users: 3 });
    const named = (tenant: string, tenant_slug: string | null, tenant_name: string | null) => ({
      ...{ tenant, tenant_slug, tenant_name },
    });
    const keyed = [
      named(acme, 'acme', 'Acme, Inc.'),
      named(other, 'other', '=cmd'),
      named(unnamed, null, null),
    ];
    expect(new Set(usage.groups.map(({ key }) => key))).toEqual(new Set(keyed));
    const costs = (await get('/costs/summary?group_by=tenant,model')) as CostSummary;
    expect(ownerCostSummary.parse(costs)).toEqual(costs);
    expect(costs.total_usd).toBe(usdOf(1_111n));
    expect(costs.groups).toHaveLength(3);
    const one = (await get(`/costs/summary?tenant_id=${acme}&group_by=api_key,agent`)) as CostSummary;
    expect(one.total_usd).toBe(usdOf(11n));
    expect(one.groups.map(({ key }) => key)).toEqual([{ api_key: ids.key, agent: ids.agent }]);
    for (const filter of [`tenant=${acme}`, 'tenant=acme'])
      expect(await get(`/costs/summary?${filter}`)).toMatchObject({ total_usd: usdOf(11n) });
    const refused = async (query: string) =>
      harness.call('GET', `${base}/usage/summary?${query}`, { as: owner });
    expect(await refused('tenant=nobody-here')).toMatchObject({ status: 400 });
    expect(await refused(`tenant=acme&tenant_id=${acme}`)).toMatchObject({ status: 400 });
    expect(await refused('group_by=session')).toMatchObject({ status: 400 });
    expect(await get(`/costs/summary?tenant_id=${newId()}`)).toMatchObject({ total_usd: usdOf(0n) });
  });

  it('compares with the period before, and has days of a time zone', async () => {
    const query = `group_by=day&timezone=Europe/Berlin&compare=previous`;
    const usage = (await get(`/usage/summary?${query}`)) as UsageSummary;
    expect(usage.previous?.totals.requests).toBe(0);
    expect(usage.groups.reduce((sum, { requests }) => sum + requests, 0)).toBe(4);
  });

  it('exports a row for each group as CSV and in FOCUS, each tenant an account of its own', async () => {
    expect(await rowsOf('group_by=tenant&tenant=acme')).toHaveLength(1);
    const rows = await rowsOf('group_by=tenant');
    expect(rows.map(({ tenant, tenant_slug: slug, tenant_name: name }) => [tenant, slug, name])).toEqual(
      [
        [acme, 'acme', 'Acme, Inc.'],
        [other, 'other', "'=cmd"],
        [unnamed, '', ''],
      ].toSorted(),
    );
    const total = rows.reduce((sum, row) => sum + picoOf(row['total_usd'] ?? ''), 0n);
    expect(total).toBe(1_111n);
    const focus = await rowsOf('format=focus');
    expect(focus.map((row) => [row['BillingAccountId'], row['BillingAccountName']]).toSorted()).toEqual(
      [
        [acme, 'acme'],
        [other, 'other'],
        [unnamed, ''],
      ].toSorted(),
    );
    expect(focus[0]).not.toHaveProperty('x_UserId');
    expect(await rowsOf(`group_by=model&tenant_id=${other}`)).toHaveLength(1);
  });

  it('shows ids without names while the tenant service is away', async () => {
    harness.tenantServiceIsAway = true;
    const usage = (await get('/usage/summary?group_by=tenant')) as UsageSummary;
    harness.tenantServiceIsAway = false;
    expect(usage.groups.map(({ key }) => key)).toContainEqual({
      ...{ tenant: acme, tenant_slug: null, tenant_name: null },
    });
  });

  describe('a summary of a tenant', () => {
    it('has keys of agents and names of API keys beside their ids', async () => {
      const usage = (await harness.get('/v1/usage/summary?group_by=agent,api_key', {
        tenantId: acme,
      })) as UsageSummary;
      expect(usage.groups.map(({ key }) => key)).toEqual([
        { agent: ids.agent, agent_key: 'helper', api_key: ids.key, api_key_name: 'Web shop' },
      ]);
      const foreign = (await harness.get('/v1/costs/summary?group_by=agent', {
        tenantId: other,
      })) as CostSummary;
      expect(foreign.groups.map(({ key }) => key)).toEqual([{ agent: ids.agent, agent_key: null }]);
    });
  });

  it('has nothing of people in it, nor takes a filter or group of them', async () => {
    const paths = ['usage/summary?group_by=', 'costs/summary?group_by=', 'costs/export?group_by='];
    for (const path of paths) {
      for (const refused of ['user', 'session', 'tenant,user'])
        expect(await harness.call('GET', `${base}/${path}${refused}`, { as: owner })).toMatchObject({
          status: 400,
          body: { error: { param: 'group_by' } },
        });
      const { body } = await harness.call('GET', `${base}/${path}tenant,agent,api_key`, { as: owner });
      for (const secret of secrets) expect(JSON.stringify(body)).not.toContain(secret);
      expect(await harness.call('GET', `${base}/${path}tenant&user_id=ada`, { as: owner })).toMatchObject({
        status: 400,
      });
    }
  });

  it('is for owners only', async () => {
    for (const path of ['usage/summary', 'costs/summary', 'costs/export', `usage/summary?tenant_id=${acme}`])
      for (const role of ['admin', 'user'] as const)
        expect(await harness.call('GET', `${base}/${path}`, { as: { role, tenantId: acme } })).toMatchObject({
          status: 403,
          body: { error: { code: 'role_missing' } },
        });
  });
});
