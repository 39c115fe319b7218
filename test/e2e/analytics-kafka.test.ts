import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { usageSummary } from '@gatehouse/contract/usage';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { withoutKafka } from '@gatehouse/test/kafka';
import { makeTopics } from '@gatehouse/test/kafka-topics';

const obstacle = await withoutKafka();
const describeKafka = obstacle === undefined ? describe : describe.skip;

describeKafka(`usage through Kafka${obstacle === undefined ? '' : ` (skipped: ${obstacle})`}`, () => {
  let gateway: TestGateway;
  let tenants: TenantAccess[];
  beforeAll(async () => {
    gateway = await TestGateway.start({
      kafka: await makeTopics(),
      analytics: 2,
      chats: 2,
    });
    tenants = await Promise.all([gateway.makeTenant(), gateway.makeTenant(), gateway.makeTenant()]);
  });
  afterAll(() => gateway.stop(), 60_000);

  /** Until so many are answered: one that meets a connection which a stopping replica closes gets 502. */
  const chat = async (tenant: TenantAccess, times: number): Promise<void> => {
    const body = {
      model: 'small',
      messages: [{ role: 'user', content: 'Hello' }],
      x_simulator: { id: tenant.id },
    };
    for (let answered = 0; answered < times;) {
      const { status } = await gateway.call('/v1/chat/completions', { key: tenant.userKey, body });
      expect([200, 502]).toContain(status);
      if (status === 200) answered += 1;
    }
  };
  const callsFor = ({ id }: TenantAccess): number =>
    gateway.simulator.requests.filter((request) => request.id === id).length;
  const requestsOf = async (tenant: TenantAccess): Promise<number> => {
    const answer = await gateway.call('/v1/usage/summary', { key: tenant.userKey });
    expect(answer.status).toBe(200);
    return usageSummary.parse(answer.body).totals.requests;
  };

  it('counts every run once while replicas of analytics and chat come and go', async () => {
    const work = tenants.map((tenant) => chat(tenant, 40));
    await gateway.stopMember('analytics-2');
    await gateway.startMember('analytics-2');
    await gateway.stopMember('chat-1');
    await gateway.startMember('chat-1');
    await gateway.stopMember('analytics-1');
    await gateway.startMember('analytics-1');
    await Promise.all(work);
    await eventually(async () => {
      for (const tenant of tenants) expect(await requestsOf(tenant)).toBe(callsFor(tenant));
    });
    expect(Math.min(...tenants.map(callsFor))).toBeGreaterThanOrEqual(40);
    expect(await gateway.rows('analytics', 'select origin, reason from analytics.dead_letters')).toEqual([]);
    const [sums] = await gateway.rows(
      'analytics',
      `select (select count(*) from analytics.traces where ended_at is not null)::integer as traces,
              ((select coalesce(sum(requests), 0) from analytics.usage)
                 + (select count(*) from analytics.traces where fold > (select folded_to from analytics.folds)))::integer
                as requests`,
    );
    const all = tenants.reduce((sum, tenant) => sum + callsFor(tenant), 0);
    expect(sums).toEqual({ traces: all, requests: all });
  });
});
