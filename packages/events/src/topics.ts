import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import type { Admin } from 'kafkajs';
import { kafkaClient } from './kafka-client.ts';
import { partitionCount } from './partitions.ts';
import type { KafkaPlace } from './settings.ts';

/** How long Kafka keeps events: consumers may be away for that long without losing any. */
const retentionMs = 14 * 24 * 3_600_000;

/**
 * Creates a topic with its partitions and retention; leaves one that exists. Part of the migration step: a topic
 * that a first message would create has one partition. Replication is the broker's default.
 */
export async function createTopic({ brokers, topic }: KafkaPlace, log: Logger): Promise<void> {
  const admin = kafkaClient('gatehouse-migrate', brokers, log).admin();
  await admin.connect();
  try {
    await admin.createTopics({
      // Its own waiting gives up on a broker that has not heard of the topic yet.
      waitForLeaders: false,
      topics: [
        {
          topic,
          numPartitions: partitionCount,
          replicationFactor: -1,
          configEntries: [{ name: 'retention.ms', value: String(retentionMs) }],
        },
      ],
    });
    const partitions = await partitionsOf(admin, topic);
    if (partitions !== partitionCount)
      throw new Error(`the topic ${topic} has ${partitions} partitions and must have ${partitionCount}`);
  } finally {
    await admin.disconnect();
  }
}

const propagationMs = 10_000;
const pollMs = 100;

/** How many partitions a topic has. The broker that is asked may hear of a new one a moment later than its maker. */
async function partitionsOf(admin: Admin, topic: string): Promise<number> {
  const deadline = monotonicMs() + propagationMs;
  // Asking for one that it does not know would be logged as an error.
  while (!(await admin.listTopics()).includes(topic) && monotonicMs() < deadline) await sleep(pollMs);
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  return topics[0]?.partitions.length ?? 0;
}
