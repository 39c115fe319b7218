import { afterEach, describe, expect, it } from '@jest/globals';
import { tracePage } from '@gatehouse/contract/traces';
import { usageSummary } from '@gatehouse/contract/usage';
import { maxEventBytes } from '@gatehouse/events/cloud-event';
import { maxSpans } from '@gatehouse/events/run-event';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';
import { withoutKafka } from '@gatehouse/test/kafka';
import { makeTopics } from '@gatehouse/test/kafka-topics';
import { insertRunEnded, largestRunEnded } from '@gatehouse/test/largest-run';

const noKafka = await withoutKafka();

describe('the largest legal event', () => {
  let gateway: TestGateway | undefined;
  afterEach(async () => gateway?.stop(), 60_000);

  /** More than one, so that a batch of them would be refused. */
  async function countThree(system: TestGateway): Promise<void> {
    const tenant = await system.makeTenant();
    for (let written = 0; written < 3; written += 1) {
      const [sql, values] = insertRunEnded(largestRunEnded(tenant.id));
      expect(Buffer.byteLength(String(values.at(-1)))).toBeGreaterThan(maxEventBytes / 2);
      await system.rows('chat', sql, values);
    }
    await eventually(async () => {
      const answer = await system.call('/v1/usage/summary', { key: tenant.userKey });
      expect(usageSummary.parse(answer.body).totals.requests).toBe(3);
    });
    // A transaction anywhere in the database delays traces, and counts are read without it.
    await eventually(async () => {
      const path = '/v1/traces/follow?limit=1&include_spans=true';
      const followed = await system.call(path, { key: tenant.userKey });
      const [trace] = tracePage.parse(followed.body).traces;
      expect(trace?.spans).toHaveLength(maxSpans);
    });
    expect(await system.rows('analytics', 'select reason from analytics.dead_letters')).toEqual([]);
    expect(await system.rows('chat', 'select reason from chat.outbox_dead_letters')).toEqual([]);
  }

  it('is published over gRPC and counted', async () => {
    gateway = await TestGateway.start();
    await countThree(gateway);
  });

  const itWithKafka = noKafka === undefined ? it : it.skip;
  itWithKafka(
    'is published through Kafka and counted',
    async () => {
      gateway = await TestGateway.start({ kafka: await makeTopics() });
      await countThree(gateway);
    },
    180_000,
  );
});
