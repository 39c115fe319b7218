import { sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { Counter, Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { Consumer, EachBatchPayload, TopicPartitionOffset } from 'kafkajs';
import { inBatches } from './batches.ts';
import type { Received } from './dead-letters.ts';
import { kafkaClient } from './kafka-client.ts';

/** A message as it lay in the topic. */
export interface Message extends Received {
  partition: number;
}

export interface KafkaConsumerOptions {
  /** Members of one group share the topic's partitions. */
  groupId: string;
  brokers: readonly string[];
  topic: string;
  /** Handles messages of one partition in their order. They come again if it throws, and may come again anyway. */
  handle: (messages: readonly Message[]) => Promise<void>;
  log: Logger;
  registry: Registry;
}

type Fetched = EachBatchPayload['batch']['messages'][number];

const heartbeatMs = 1_000;
const retryMs = 1_000;
/** What is handled at once: one transaction, and one commit of the offset. */
const handledAtOnce = { items: 1_000, bytes: 2_000_000 };
/** What a broker sends at once, unless a single batch in the topic is larger. */
const maxBytesPerPartition = 1_048_576;
const maxBytes = 8_388_608;

/** Reads a topic at least once: what has been handled is committed, and what can't be is tried until it can. */
export class KafkaConsumer {
  readonly #options: KafkaConsumerOptions;
  readonly #stopping = new AbortController();
  readonly #lag: Gauge<'partition'>;
  readonly #failures: Counter;
  #consumer: Consumer | null = null;
  #starting: Promise<void> = Promise.resolve();

  constructor(options: KafkaConsumerOptions) {
    this.#options = options;
    const registers = [options.registry];
    this.#lag = new Gauge({
      name: 'gatehouse_consumer_lag_messages',
      help: 'Messages in the topic behind those that were read last',
      labelNames: ['partition'],
      registers,
    });
    this.#failures = new Counter({
      name: 'gatehouse_consumer_failures_total',
      help: 'Batches that could not be handled at once',
      registers,
    });
  }

  /** Returns at once: a broker that is away keeps nobody from starting. */
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
      const consumer = this.#createConsumer();
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
        log.warn({ err: error }, 'can not read from Kafka; it is tried again');
        await consumer.disconnect().catch(() => undefined);
        await sleep(retryMs, signal).catch(() => undefined);
      }
    }
  }

  #createConsumer(): Consumer {
    const { groupId, brokers, log } = this.#options;
    const consumer = kafkaClient(groupId, brokers, log).consumer({
      groupId,
      // The least that brokers allow. A dead replica's partitions stay unread this long.
      sessionTimeout: 6_000,
      rebalanceTimeout: 10_000,
      heartbeatInterval: heartbeatMs,
      maxWaitTimeInMs: 200,
      maxBytesPerPartition,
      maxBytes,
      allowAutoTopicCreation: false,
    });
    // Other members report the lag of their partitions.
    consumer.on(consumer.events.GROUP_JOIN, () => this.#lag.reset());
    // After errors that kafkajs takes for final it has disconnected, and would read nothing more.
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (!payload.restart) this.#starting = this.#restart(payload.error);
    });
    return consumer;
  }

  async #restart(error: Error): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted) return;
    this.#options.log.warn({ err: error }, 'reading from Kafka ended with an error; restarting');
    await sleep(retryMs, signal).catch(() => undefined);
    await this.#connect();
  }

  async #handle(consumer: Consumer, payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    this.#lag.set({ partition: batch.partition }, Number(batch.offsetLag()));
    const beat = setInterval(() => void payload.heartbeat().catch(() => undefined), heartbeatMs);
    try {
      const bytesOf = ({ value }: Fetched): number => value?.length ?? 0;
      for (const messages of inBatches(batch.messages, bytesOf, handledAtOnce)) {
        if (!(await this.#handleSurely(payload, messages))) return;
        const last = messages.at(-1)?.offset ?? '0';
        payload.resolveOffset(last);
        const offset = (BigInt(last) + 1n).toString();
        await commit(consumer, { topic: batch.topic, partition: batch.partition, offset });
      }
    } finally {
      clearInterval(beat);
    }
  }

  /** False when somebody else is to go on: we stop, or the partition has moved. */
  async #handleSurely(payload: EachBatchPayload, messages: readonly Fetched[]): Promise<boolean> {
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
        this.#failures.inc();
        this.#options.log.warn({ err: error }, 'events could not be handled; it is tried again');
        await sleep(retryMs, signal).catch(() => undefined);
      }
    }
    return false;
  }
}

/**
 * kafkajs wraps the broker's answer, and then no longer recognizes that the group only has to be joined again: after a
 * pause of the broker the consumer would crash.
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
