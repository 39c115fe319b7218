import type { Logger } from '@gatehouse/kit/log';
import { kafkaClient } from './kafka-client.ts';
import { partitionCount } from './partitions.ts';
import type { KafkaPlace } from './settings.ts';

/** How long Kafka keeps events: consumers may be away for that long without losing any. */
const retentionMs = 14 * 24 * 3_600_000;

/**
 * Creates the topics with their partitions and retention; leaves those that exist. Part of the migration step: a topic
 * that a first message would create has one partition. Replication is the broker's default.
 */
export async function createTopics({ brokers, topic }: KafkaPlace, log: Logger): Promise<void> {
  const admin = kafkaClient('gatehouse-migrate', brokers, log).admin();
  await admin.connect();
  try {
    await admin.createTopics({
      waitForLeaders: true,
      topics: [
        {
          topic,
          numPartitions: partitionCount,
          replicationFactor: -1,
          configEntries: [{ name: 'retention.ms', value: String(retentionMs) }],
        },
      ],
    });
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    const partitions = topics[0]?.partitions.length ?? 0;
    if (partitions !== partitionCount)
      throw new Error(`the topic ${topic} has ${partitions} partitions and must have ${partitionCount}`);
  } finally {
    await admin.disconnect();
  }
}
