import { afterEach, expect, it, jest } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import { Kafka, type Producer, type ProducerRecord } from 'kafkajs';
import { KafkaSink } from './kafka-sink.ts';
import type { PartitionBatch } from './sink.ts';

/** Requests of producers of kafkajs, which a test ends. */
interface Request {
  values: string[];
  succeed: () => void;
  fail: (error: Error) => void;
}

const requests: Request[] = [];
const done = () => jest.fn(() => Promise.resolve());
const producers: { disconnect: ReturnType<typeof done> }[] = [];

function replaceProducers(): void {
  jest.spyOn(Kafka.prototype, 'producer').mockImplementation(() => {
    const send = ({ messages }: ProducerRecord): Promise<void> =>
      new Promise((resolve, reject) => {
        const values = messages.map(({ value }) => String(value));
        requests.push({ values, succeed: resolve, fail: reject });
      });
    const producer = { connect: done(), disconnect: done(), send };
    producers.push(producer);
    // A stand-in for the only methods of a producer that the sink calls.
    return producer as unknown as Producer;
  });
}

afterEach(() => {
  jest.restoreAllMocks();
  requests.length = 0;
  producers.length = 0;
});

const makeSink = (): KafkaSink =>
  new KafkaSink({
    ...{ clientId: 'test', brokers: ['127.0.0.1:1'], topic: 'events' },
    log: createLogger('test', 'silent'),
  });

const batch = (json: string): PartitionBatch[] => [{ partition: 0, events: [{ key: 'tenant', json }] }];

async function untilRequested(count: number): Promise<Request | undefined> {
  await eventually(() => expect(requests.length).toBeGreaterThanOrEqual(count));
  // Concurrent requests would come now.
  await sleep(20);
  expect(requests).toHaveLength(count);
  return requests.at(-1);
}

it('sends one request at a time, with all that came during the previous one', async () => {
  replaceProducers();
  const sink = makeSink();
  const published = ['a', 'b', 'c'].map((json) => sink.publish(batch(json)));
  const first = await untilRequested(1);
  expect(first?.values).toEqual(['a']);
  first?.succeed();
  const second = await untilRequested(2);
  expect(second?.values).toEqual(['b', 'c']);
  second?.succeed();
  await Promise.all(published);
  expect(producers).toHaveLength(1);
});

it('sends what came during a failed request with another producer, and closes the failed one', async () => {
  replaceProducers();
  const sink = makeSink();
  const [failing, waiting] = [sink.publish(batch('a')), sink.publish(batch('b'))];
  (await untilRequested(1))?.fail(new Error('timed out'));
  await expect(failing).rejects.toThrow('timed out');
  (await untilRequested(2))?.succeed();
  await waiting;
  expect(producers.map(({ disconnect }) => disconnect.mock.calls.length)).toEqual([1, 0]);
  await sink.close();
  expect(producers.map(({ disconnect }) => disconnect.mock.calls.length)).toEqual([1, 1]);
});
