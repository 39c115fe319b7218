import { sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { counter, gauge, type Registry } from '@gatehouse/kit/metrics';
import type { Consumer, EachBatchPayload, TopicPartitionOffset } from 'kafkajs';
import { inBatches } from './batches.ts';
import type { Received } from './dead-letters.ts';
import { kafkaClient } from './kafka-client.ts';
import { partitionCount } from './partitions.ts';

/** A message as read from the topic. */
export interface TopicMessage extends Received {
  partition: number;
}

export interface KafkaConsumerOptions {
  /** Consumers with the same group id share the partitions of the topic. */
  groupId: string;
  brokers: readonly string[];
  topic: string;
  /**
   * Handles messages of one partition, in order. They are delivered again if it throws, and may be delivered again in
   * any case.
   */
  handle: (messages: readonly TopicMessage[]) => Promise<void>;
  log: Logger;
  registry: Registry;
}

type Fetched = EachBatchPayload['batch']['messages'][number];

const allPartitions = Array.from({ length: partitionCount }, (_, partition) => partition);
const heartbeatMs = 1_000;
const retryMs = 1_000;
/** Messages per call of `handle`: one transaction and one commit of the offset. */
const handledAtOnce = { items: 1_000, bytes: 2_000_000 };
/** Bytes per fetch; a larger single batch in the topic is fetched too. */
const maxBytesPerPartition = 1_048_576;
const maxBytes = 8_388_608;

/**
 * Reads a topic with at-least-once delivery: commits what was handled, and retries failed messages until they succeed.
 */
export class KafkaConsumer {
  readonly #options: KafkaConsumerOptions;
  readonly #stopping = new AbortController();
  readonly #metrics: Metrics;
  #consumer: Consumer | null = null;
  #starting: Promise<void> = Promise.resolve();

  constructor(options: KafkaConsumerOptions) {
    this.#options = options;
    this.#metrics = metricsOf(options.registry);
  }

  /**
   * Returns at once and connects in the background, so an unavailable broker does not delay the start of the service.
   */
  start(): void {
    this.#starting = this.#connect();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#starting;
    await this.#consumer?.disconnect();
  }

  async #connect(): Promise<void> {
    const { log, topic } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const consumer = await this.#createConsumer();
      this.#consumer = consumer;
      try {
        await consumer.connect();
        await consumer.subscribe({ topic, fromBeginning: true });
        await consumer.run({
          autoCommit: false,
          eachBatchAutoResolve: false,
          partitionsConsumedConcurrently: 4,
          eachBatch: (payload) => this.#handle(consumer, payload),
        });
        return;
      } catch (error) {
        log.warn({ err: error }, 'failed to connect to Kafka; retrying');
        await consumer.disconnect().catch(() => undefined);
        await sleep(retryMs, signal).catch(() => undefined);
      }
    }
  }

  async #createConsumer(): Promise<Consumer> {
    const { groupId, brokers, topic, log } = this.#options;
    const kafka = await kafkaClient(groupId, brokers, log);
    const consumer = kafka.consumer({
      groupId,
      // The minimum allowed by brokers. The partitions of a dead replica stay unread for this long.
      sessionTimeout: 6_000,
      rebalanceTimeout: 10_000,
      heartbeatInterval: heartbeatMs,
      maxWaitTimeInMs: 200,
      maxBytesPerPartition,
      maxBytes,
      allowAutoTopicCreation: false,
    });
    // Other members report the lag of their partitions.
    consumer.on(consumer.events.GROUP_JOIN, () => {
      for (const partition of allPartitions) this.#metrics.lag.remove({ topic, partition });
    });
    // kafkajs disconnects after errors it considers final and would not read on.
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (!payload.restart) this.#starting = this.#restart(payload.error);
    });
    return consumer;
  }

  async #restart(error: Error): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted) return;
    this.#options.log.warn({ err: error }, 'failed to read from Kafka; reconnecting');
    await sleep(retryMs, signal).catch(() => undefined);
    await this.#connect();
  }

  async #handle(consumer: Consumer, payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    this.#metrics.lag.set({ topic: batch.topic, partition: batch.partition }, Number(batch.offsetLag()));
    const beat = setInterval(() => void payload.heartbeat().catch(() => undefined), heartbeatMs);
    try {
      const bytesOf = ({ value }: Fetched): number => value?.length ?? 0;
      for (const messages of inBatches(batch.messages, bytesOf, handledAtOnce)) {
        if (!(await this.#handleUntilDone(payload, messages))) return;
        const last = messages.at(-1)?.offset ?? '0';
        payload.resolveOffset(last);
        const offset = (BigInt(last) + 1n).toString();
        await commit(consumer, { topic: batch.topic, partition: batch.partition, offset });
      }
    } finally {
      clearInterval(beat);
    }
  }

  /** Returns false when the consumer stops or the partition has moved to another consumer. */
  async #handleUntilDone(payload: EachBatchPayload, messages: readonly Fetched[]): Promise<boolean> {
    const { signal } = this.#stopping;
    const { topic, partition } = payload.batch;
    while (payload.isRunning() && !payload.isStale() && !signal.aborted) {
      try {
        await this.#options.handle(
          messages.map(({ offset, value }) => ({
            partition,
            origin: `${topic}/${partition}/${offset}`,
            payload: value ?? Buffer.alloc(0),
          })),
        );
        return true;
      } catch (error) {
        this.#metrics.failures.inc();
        this.#options.log.warn({ err: error }, 'failed to handle events; retrying');
        await sleep(retryMs, signal).catch(() => undefined);
      }
    }
    return false;
  }
}

type Metrics = ReturnType<typeof createMetrics>;

/** The metrics of each registry: a service may consume several topics. */
const created = new WeakMap<Registry, Metrics>();

function metricsOf(registry: Registry): Metrics {
  const metrics = created.get(registry) ?? createMetrics(registry);
  created.set(registry, metrics);
  return metrics;
}

function createMetrics(registry: Registry) {
  return {
    lag: gauge(
      registry,
      'gatehouse_consumer_lag_messages',
      'Messages in the topic after the last one that was read',
      ['topic', 'partition'],
    ),
    failures: counter(
      registry,
      'gatehouse_consumer_failures_total',
      'Failed attempts to handle a batch of messages',
    ),
  };
}

/**
 * Unwraps the error, because kafkajs does not recognize a broker's wrapped request to rejoin the group: after a pause
 * of the broker the consumer would crash.
 */
async function commit(consumer: Consumer, offset: TopicPartitionOffset): Promise<void> {
  await consumer.commitOffsets([offset]).catch((error: unknown) => {
    throw rootCauseOf(error);
  });
}

function rootCauseOf(error: unknown): unknown {
  const { cause } = Object(error) as { cause?: unknown };
  return cause === undefined || cause === null ? error : rootCauseOf(cause);
}
