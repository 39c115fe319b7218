import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { kafkaObstacle } from '@gatehouse/local/kafka-jars';
import { loopback } from '@gatehouse/local/ports';
import { kafkaHostVariable, type KafkaAnswer } from './kafka-host.ts';

/**
 * `KAFKA_BROKERS` of this run's Kafka: the one that the environment names, else one for all test files, started when
 * the first of them asks. That takes 2 to 10 s, and up to minutes for the very first copy of its jars, so ask in a
 * `beforeAll` with a time limit of its own. Topics and groups are shared: give them names of the test's.
 */
export async function kafkaBrokers(): Promise<string> {
  const given = process.env['KAFKA_BROKERS'];
  if (given) return given;
  const port = process.env[kafkaHostVariable];
  if (port === undefined)
    throw new Error(`${kafkaHostVariable} is not set: run the tests through jest.config.js`);
  const answer = JSON.parse(await text(connect({ host: loopback, port: Number(port) }))) as KafkaAnswer;
  if ('error' in answer) throw new Error(answer.error);
  return answer.brokers;
}

/** Why this machine has no Kafka, for `describe.skip`; undefined when `kafkaBrokers` will have one. */
export async function withoutKafka(): Promise<string | undefined> {
  return process.env['KAFKA_BROKERS'] ? undefined : kafkaObstacle();
}
