import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { eventually } from '@gatehouse/test/eventually';
import { kafkaBrokers, withoutKafka } from '@gatehouse/test/kafka';
import { maxEventBytes } from './cloud-event.ts';
import { KafkaConsumer, type TopicMessage } from './kafka-consumer.ts';
import { KafkaSink } from './kafka-sink.ts';
import { partitionCount } from './partitions.ts';
import { RejectedBatchError } from './sink.ts';
import type { KafkaPlace } from './settings.ts';
import { createTopic } from './topics.ts';

const log = createLogger('test', 'silent');
const obstacle = await withoutKafka();
const describeKafka = obstacle === undefined ? describe : describe.skip;

describeKafka(`Kafka${obstacle === undefined ? '' : ` (skipped: ${obstacle})`}`, () => {
  let brokers: string[];
  beforeAll(async () => {
    brokers = [await kafkaBrokers()];
  });

  const makePlace = async (): Promise<KafkaPlace> => {
    const prefix = `${newId()}.`;
    const place = { brokers, prefix, topic: `${prefix}events` };
    await createTopic(place, log);
    return place;
  };
  const startConsumer = (place: KafkaPlace, handle: (messages: readonly TopicMessage[]) => Promise<void>) => {
    const consumer = new KafkaConsumer({
      ...place,
      groupId: `${place.prefix}group`,
      handle,
      log,
      registry: createRegistry('test'),
    });
    consumer.start();
    return consumer;
  };
  const texts = (messages: readonly TopicMessage[]): string[] =>
    messages.map(({ payload }) => payload.toString());
  const stops: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  const makeSink = (place: KafkaPlace): KafkaSink => {
    const sink = new KafkaSink({ ...place, clientId: 'test', log });
    stops.push(() => sink.close());
    return sink;
  };
  const batch = (partition: number, ...events: string[]) => ({
    partition,
    events: events.map((json) => ({ key: 'tenant', json })),
  });

  it('makes topics that can be made again', async () => {
    const place = await makePlace();
    await createTopic(place, log);
  });

  it('keeps the order within each partition, and tries again what could not be handled', async () => {
    const place = await makePlace();
    const seen = new Map<number, string[]>();
    let failures = 2;
    const consumer = startConsumer(place, (messages) => {
      if (failures > 0) {
        failures -= 1;
        return Promise.reject(new Error('not yet'));
      }
      for (const { partition, payload } of messages)
        seen.set(partition, [...(seen.get(partition) ?? []), payload.toString()]);
      return Promise.resolve();
    });
    stops.push(() => consumer.stop());
    const sink = makeSink(place);
    await sink.publish([batch(0, 'a', 'b'), batch(7, 'x')]);
    await sink.publish([batch(0, 'c')]);
    await eventually(() => {
      expect(seen.get(0)).toEqual(['a', 'b', 'c']);
      expect(seen.get(7)).toEqual(['x']);
    });
  });

  it('says that a batch is larger than a broker takes, of one partition alone, and goes on', async () => {
    const place = await makePlace();
    const sink = makeSink(place);
    const large = 'x'.repeat(400_000);
    await expect(sink.publish([batch(0, large, large, large)])).rejects.toMatchObject({ reason: 'size' });
    await expect(sink.publish([batch(0, 'a'), batch(1, large, large, large)])).rejects.toBeInstanceOf(
      RejectedBatchError,
    );
    await sink.publish([batch(0, large, large), batch(1, large, large), batch(2, 'x'.repeat(maxEventBytes))]);
  });

  /** Longer than a member of a group may be silent, which is 6 s. */
  const silentMs = 9_000;

  it('goes on after the group has given it up, as a pause of the broker or of the consumer ends', async () => {
    const place = await makePlace();
    const seen: string[] = [];
    const consumer = startConsumer(place, (messages) => {
      // Nothing of this process answers meanwhile.
      if (seen.length === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, silentMs);
      seen.push(...texts(messages));
      return Promise.resolve();
    });
    stops.push(() => consumer.stop());
    const sink = makeSink(place);
    await sink.publish([batch(0, 'before')]);
    await eventually(() => expect(seen).toContain('before'), 30_000);
    await sink.publish([batch(0, 'after')]);
    await eventually(() => expect(seen).toContain('after'), 60_000);
  });

  it('shares partitions among consumers that come and go, and loses nothing', async () => {
    const place = await makePlace();
    const seen: string[] = [];
    const take = (messages: readonly TopicMessage[]): Promise<void> => {
      seen.push(...texts(messages));
      return Promise.resolve();
    };
    const first = startConsumer(place, take);
    const sink = makeSink(place);
    const wanted: string[] = [];
    let last: KafkaConsumer | undefined;
    for (let round = 0; round < 30; round += 1) {
      const batches = Array.from({ length: partitionCount }, (_, partition) =>
        batch(partition, `${round}/${partition}`),
      );
      wanted.push(...batches.flatMap(({ events }) => events.map(({ json }) => json)));
      await sink.publish(batches);
      // The second consumer joins while the first works; the first leaves after they shared the partitions for a while.
      if (round === 10) {
        await eventually(() => expect(seen.length).toBeGreaterThan(0));
        last = startConsumer(place, take);
      }
      if (round === 20) {
        await eventually(() => expect(new Set(seen)).toEqual(new Set(wanted)));
        await first.stop();
      }
    }
    stops.push(async () => last?.stop());
    await eventually(() => {
      expect([...new Set(seen)].sort()).toEqual([...wanted].sort());
    });
  });

  it('says so when a topic has another number of partitions', async () => {
    const place = await makePlace();
    const { kafkaClient } = await import('./kafka-client.ts');
    const admin = (await kafkaClient('test', brokers, log)).admin();
    await admin.connect();
    await admin.createPartitions({ topicPartitions: [{ topic: place.topic, count: partitionCount + 1 }] });
    await admin.disconnect();
    await eventually(() => expect(createTopic(place, log)).rejects.toThrow(/9 partitions and must have 8/));
  });
});
