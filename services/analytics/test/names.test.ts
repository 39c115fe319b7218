import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Trace } from '@gatehouse/contract/traces';
import type { UsageSummary } from '@gatehouse/contract/usage';
import { newId } from '@gatehouse/kit/ids';
import { AnalyticsHarness } from './analytics-harness.ts';
import { describeStores } from './describe-stores.ts';
import { makeEnd } from './event-fixture.ts';

let analytics: AnalyticsHarness;

const admin = (tenantId: string) => ({ tenantId, role: 'admin' as const });

async function get(tenantId: string, id: string): Promise<Trace> {
  return (await analytics.get(`/v1/traces/${id}`, admin(tenantId))) as Trace;
}

/** A tenant with a run of an agent, and the names that the services have of it. */
async function makeRun() {
  const [tenantId, agentId, keyId] = [newId(), newId(), newId()];
  const run = makeEnd({ tenant_id: tenantId, agent_id: agentId, api_key_id: keyId, client: 'claude-code' });
  await analytics.ingest(run);
  analytics.agents.set(tenantId, [{ id: agentId, key: 'support', name: 'Support' }]);
  analytics.apiKeys.set(tenantId, [{ id: keyId, name: 'Web shop' }]);
  return { tenantId, id: run.run_id };
}

describeStores('names of agents and API keys', (engine) => {
  beforeAll(async () => {
    analytics = await AnalyticsHarness.start(undefined, engine);
  });
  afterAll(() => analytics.stop());

  it('a run has the key of its agent, the name of its API key and its client beside the ids', async () => {
    const { tenantId, id } = await makeRun();
    expect(await get(tenantId, id)).toMatchObject({
      agent_key: 'support',
      api_key_name: 'Web shop',
      client: 'claude-code',
    });
  });

  it('a name that changes is shown at once, and a deleted agent has none', async () => {
    const { tenantId, id } = await makeRun();
    const [key] = analytics.apiKeys.get(tenantId) ?? [];
    await get(tenantId, id);
    analytics.apiKeys.set(tenantId, [{ id: key?.id ?? '', name: 'Shop' }]);
    analytics.agents.delete(tenantId);
    expect(await get(tenantId, id)).toMatchObject({ agent_key: null, api_key_name: 'Shop' });
  });

  it('runs are shown without names while the services that have them are away', async () => {
    const { tenantId, id } = await makeRun();
    analytics.agentServiceIsAway = true;
    expect(await get(tenantId, id)).toMatchObject({ id, agent_key: null, api_key_name: 'Web shop' });
    analytics.agentServiceIsAway = false;
    analytics.tenantServiceIsAway = true;
    expect(await get(tenantId, id)).toMatchObject({ id, agent_key: 'support', api_key_name: null });
    analytics.tenantServiceIsAway = false;
  });

  it('a run without agent and key has no names', async () => {
    const tenantId = newId();
    const run = makeEnd({
      tenant_id: tenantId,
      agent_id: null,
      api_key_id: null,
      dialect: null,
      client: null,
    });
    await analytics.ingest(run);
    expect(await get(tenantId, run.run_id)).toMatchObject({
      agent_key: null,
      api_key_name: null,
      client: null,
    });
  });

  it('names of private agents are for admins and their owners, also in searches and groups', async () => {
    const [tenantId, agentId] = [newId(), newId()];
    await analytics.ingest(makeEnd({ tenant_id: tenantId, agent_id: agentId, user_id: 'ada' }));
    analytics.agents.set(tenantId, [{ id: agentId, key: 'diary', name: 'Diary', privateOf: 'ada' }]);
    const user = { tenantId, role: 'user' as const, userId: null, boundUser: null };
    const seen = async (as: object): Promise<unknown[]> => {
      const list = (await analytics.get('/v1/traces', as)) as { data: Trace[] };
      const found = (await analytics.get('/v1/traces?q=diary', as)) as { data: Trace[] };
      const usage = (await analytics.get('/v1/usage/summary?group_by=agent', as)) as UsageSummary;
      return [list.data[0]?.agent_key, found.data.length, usage.groups[0]?.key.agent_key];
    };
    expect(await seen(admin(tenantId))).toEqual(['diary', 1, 'diary']);
    expect(await seen(user)).toEqual([null, 0, null]);
    expect(await seen({ ...user, userId: 'ada' })).toEqual(['diary', 1, 'diary']);
  });
});
