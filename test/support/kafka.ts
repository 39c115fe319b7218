import { kafkaObstacle } from '@gatehouse/local/kafka-jars';
import { kafkaHostVariable } from './kafka-host.ts';
import { madeOnce } from './once-a-run.ts';

/**
 * Returns `KAFKA_BROKERS`: from the environment, otherwise of one Kafka for all test files, which starts at the first
 * call. A start takes 2 to 10 s, and up to minutes when the jars are downloaded, so call this in a `beforeAll` with its
 * own timeout. Topics and groups are shared: use unique names.
 */
export async function kafkaBrokers(): Promise<string> {
  const given = process.env['KAFKA_BROKERS'];
  if (given) return given;
  const kafka = await madeOnce<{ brokers: string }>(kafkaHostVariable);
  if (kafka === undefined)
    throw new Error(`${kafkaHostVariable} is not set: run the tests through jest.config.js`);
  return kafka.brokers;
}

/** The reason why this machine has no Kafka, for `describe.skip`; undefined if `kafkaBrokers` works. */
export async function withoutKafka(): Promise<string | undefined> {
  return process.env['KAFKA_BROKERS'] ? undefined : kafkaObstacle();
}
