import { beforeAll, describe, expect, it } from '@jest/globals';
import { kafkaAnswers } from '@gatehouse/local/kafka-answers';
import { kafkaBrokers, withoutKafka } from './kafka.ts';

const obstacle = await withoutKafka();
const describeWithKafka = obstacle === undefined ? describe : describe.skip;

describeWithKafka(`the Kafka of a test run${obstacle === undefined ? '' : ` (skipped: ${obstacle})`}`, () => {
  let brokers: string[];

  beforeAll(async () => {
    brokers = await Promise.all([kafkaBrokers(), kafkaBrokers()]);
  }, 300_000);

  it('is the same for every test file, and answers', async () => {
    expect(new Set(brokers).size).toBe(1);
    const [host = '', port] = brokers[0]?.split(',')[0]?.split(':') ?? [];
    expect(await kafkaAnswers(host, Number(port), 1_000)).toBe(true);
  });

  it('is the one that the environment names, if it does', async () => {
    const before = process.env['KAFKA_BROKERS'];
    process.env['KAFKA_BROKERS'] = 'kafka.example:9092';
    try {
      expect(await kafkaBrokers()).toBe('kafka.example:9092');
    } finally {
      if (before === undefined) delete process.env['KAFKA_BROKERS'];
      else process.env['KAFKA_BROKERS'] = before;
    }
  });
});
