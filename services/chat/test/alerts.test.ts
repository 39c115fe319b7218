import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { chat, ChatHarness } from './chat-harness.ts';
import { countingPolicy, groupPolicy } from './counting-policy.ts';

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start();
});
afterAll(async () => harness.stop());

async function ask(
  tenantId: string,
  fields: Record<string, unknown> = {},
  userId: string | null = null,
): Promise<number> {
  const response = await harness.post('/v1/chat/completions', chat('a secret prompt', fields), {
    principal: { tenantId, userId },
  });
  await response.arrayBuffer();
  return response.status;
}

/** Alerts of a type, once the first has arrived and others had time to. */
async function alertsOf(tenantId: string | null, type: string, about = (_data: object) => true) {
  const found = () => harness.alertsOf(tenantId, type).filter(({ data }) => about(data));
  await eventually(() => expect(found()).not.toEqual([]));
  await harness.flushAlerts();
  return found();
}

describe('a run that fails', () => {
  const failing = { x_simulator: { status: 400 } };

  it('is reported with its run, and without what was asked', async () => {
    const tenantId = newId();
    expect(await ask(tenantId, failing)).toBe(400);
    const [alert, ...more] = await alertsOf(tenantId, 'run.failed');
    const [run] = await harness.endedRuns('tenant_id = $1', [tenantId]);
    expect(more).toEqual([]);
    expect(alert).toEqual({
      ...{ id: run?.run_id, tenant_id: tenantId, type: 'run.failed', at: expect.any(String) },
      data: {
        ...{ run_id: run?.run_id, trace_id: run?.trace_id, agent_id: null, request_model: 'small' },
        ...{ channel: 'api', status: 'error', error_type: run?.error_type },
      },
    });
    expect(JSON.stringify(alert)).not.toContain('secret');
  });

  it('is reported once a minute for an agent or model call of a tenant', async () => {
    const tenantId = newId();
    for (let n = 0; n < 5; n += 1) expect(await ask(tenantId, failing)).toBe(400);
    expect(await alertsOf(tenantId, 'run.failed')).toHaveLength(1);
    const other = newId();
    await ask(other, failing);
    expect(await alertsOf(other, 'run.failed')).toHaveLength(1);
  });

  it('is reported at once, however long nothing has happened', async () => {
    const tenantId = newId();
    // The relay's pauses have grown to three seconds: its next read is more than a second and a half away.
    await sleep(4_200);
    await ask(tenantId, failing);
    await eventually(() => expect(harness.alertsOf(tenantId, 'run.failed')).toHaveLength(1), 1_500);
  });

  it('is none that succeeds', async () => {
    const tenantId = newId();
    expect(await ask(tenantId)).toBe(200);
    await harness.flushAlerts();
    expect(harness.alertsOf(tenantId, 'run.failed')).toEqual([]);
  });
});

it('reports a limit that is exceeded, once a minute, with what is limited', async () => {
  const tenantId = newId();
  harness.settings.set(tenantId, { limited: [Resource.REQUESTS] });
  harness.usedUp.add(tenantId);
  expect([await ask(tenantId), await ask(tenantId)]).toEqual([429, 429]);
  expect(await alertsOf(tenantId, 'limit.exceeded')).toMatchObject([
    {
      data: {
        ...{ limit: 'requests', maximum: '5', subject_type: 'tenant', subject_id: tenantId },
        ...{ policy: null, value: null },
      },
    },
  ]);
});

it('names the policy of an exceeded limit with the value that it counts, a group by its name', async () => {
  const group = { id: newId(), name: 'Berlin' };
  const ofGroups = groupPolicy(harness, group.id);
  const ofAll = { ...countingPolicy(harness), limited: [Resource.REQUESTS], enforce: true };
  for (const [policy, value] of [
    [ofGroups, 'Berlin'],
    [ofAll, null],
  ] as const) {
    const tenantId = newId();
    harness.settings.set(tenantId, { hasUsers: true, policies: [policy] });
    harness.users.set(`${tenantId} ada`, { userId: 'ada', blocked: false, groups: [group] });
    harness.usedUp.add(tenantId);
    expect(await ask(tenantId, {}, 'ada')).toBe(429);
    const { id, name } = policy;
    expect(await alertsOf(tenantId, 'limit.exceeded')).toMatchObject([
      { data: { subject_type: 'policy', subject_id: id, policy: name, value } },
    ]);
  }
});

it('reports the policy by which a request counts in too many counters', async () => {
  const tenantId = newId();
  const policies = Array.from({ length: 65 }, (_, n) => ({
    ...countingPolicy(harness),
    name: `policy-${n}`,
  }));
  harness.settings.set(tenantId, { policies });
  expect(await ask(tenantId)).toBe(429);
  expect(await alertsOf(tenantId, 'policy.counters_full')).toMatchObject([
    { data: { policy_id: policies[64]?.id, policy: 'policy-64' } },
  ]);
  const metrics = await harness.metrics();
  expect(metrics).toMatch(/^gatehouse_limit_refusals_total\{.*code="too_many_counters".*\} 1$/m);
  expect(metrics).toMatch(/^gatehouse_policy_refusals_total\{.*resource="budget".*\} 1$/m);
});

it('reports models without a price to the owner, whether they are used or refused', async () => {
  expect(await ask(newId(), { model: 'vendor/large' })).toBe(200);
  const used = await alertsOf(
    null,
    'model.unpriced',
    (data) => 'model' in data && data.model === 'vendor/large',
  );
  expect(used).toMatchObject([{ data: { provider: 'simulator', model: 'vendor/large' } }]);
  const tenantId = newId();
  harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
  expect(await ask(tenantId, { model: 'quick' })).toBe(403);
  const refused = await alertsOf(null, 'model.unpriced', (data) => 'model' in data && data.model === 'quick');
  expect(refused).toMatchObject([{ data: { provider: 'quick', model: 'quick' } }]);
});

it('reports a provider that is down to the owner', async () => {
  for (let n = 0; n < 12; n += 1) expect(await ask(newId(), { model: 'refusing' })).toBe(502);
  const about = (data: object) => 'provider' in data && data.provider === 'refusing';
  const models = (await alertsOf(null, 'provider.down', about)).map(({ data }) => data['model']);
  expect(models).toContain('refusing');
  expect(new Set(models).size).toBe(models.length);
});
