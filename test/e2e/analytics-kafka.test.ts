import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { usageSummary } from '@gatehouse/contract/analytics';
import { kafkaPlace } from '@gatehouse/events/settings';
import { createTopics } from '@gatehouse/events/topics';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway, type TenantAccess } from '@gatehouse/test/gateway';
import { kafkaBrokers, withoutKafka } from '@gatehouse/test/kafka';

const obstacle = await withoutKafka();
const describeKafka = obstacle === undefined ? describe : describe.skip;

describeKafka(`usage through Kafka${obstacle === undefined ? '' : ` (skipped: ${obstacle})`}`, () => {
  let gateway: TestGateway;
  let tenants: TenantAccess[];
  beforeAll(async () => {
    const brokers = await kafkaBrokers();
    const prefix = `${newId()}.`;
    const place = kafkaPlace({ KAFKA_BROKERS: [brokers], KAFKA_PREFIX: prefix });
    if (place !== null) await createTopics(place, createLogger('test', 'silent'));
    gateway = await TestGateway.start({
      kafka: { KAFKA_BROKERS: brokers, KAFKA_PREFIX: prefix },
      analytics: 2,
      chats: 2,
    });
    tenants = await Promise.all([gateway.makeTenant(), gateway.makeTenant(), gateway.makeTenant()]);
  }, 180_000);
  afterAll(() => gateway.stop(), 60_000);

  const chat = async (tenant: TenantAccess, times: number): Promise<void> => {
    const body = { model: 'small', messages: [{ role: 'user', content: 'Hello' }] };
    for (let index = 0; index < times; index += 1)
      expect((await gateway.call('/v1/chat/completions', { key: tenant.userKey, body })).status).toBe(200);
  };
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
      for (const tenant of tenants) expect(await requestsOf(tenant)).toBe(40);
    }, 60_000);
    expect(await gateway.rows('analytics', 'select origin, reason from analytics.dead_letters')).toEqual([]);
    const [sums] = await gateway.rows(
      'analytics',
      `select (select count(*) from analytics.traces where ended_at is not null)::integer as traces,
              (select sum(requests) from analytics.usage)::integer as requests`,
    );
    expect(sums).toEqual({ traces: 120, requests: 120 });
  }, 120_000);
});
