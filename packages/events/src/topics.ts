import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import type { Admin } from 'kafkajs';
import { kafkaClient } from './kafka-client.ts';
import { partitionCount } from './partitions.ts';
import type { KafkaPlace } from './settings.ts';

/** Retention of events: a consumer can be down for this long without losing events. */
const retentionMs = 14 * 24 * 3_600_000;

/**
 * Creates a topic with its partitions and retention; leaves an existing topic unchanged. Part of the migration step,
 * because a topic created by its first message has one partition. The replication factor is the default of the broker.
 */
export async function createTopic({ brokers, topic }: KafkaPlace, log: Logger): Promise<void> {
  const kafka = await kafkaClient('gatehouse-migrate', brokers, log);
  const admin = kafka.admin();
  await admin.connect();
  try {
    await admin.createTopics({
      // kafkajs stops waiting when a broker has not received the new topic yet; see `partitionsOf`.
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

/** The number of partitions of a topic. Waits, because a broker may learn of a new topic a moment later. */
async function partitionsOf(admin: Admin, topic: string): Promise<number> {
  const deadline = monotonicMs() + propagationMs;
  // kafkajs logs a request for an unknown topic as an error.
  while (!(await admin.listTopics()).includes(topic) && monotonicMs() < deadline) await sleep(pollMs);
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  return topics[0]?.partitions.length ?? 0;
}
