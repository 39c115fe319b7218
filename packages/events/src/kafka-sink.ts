import type { Logger } from '@gatehouse/kit/log';
import type { Kafka, Producer } from 'kafkajs';
import { contentType } from './cloud-event.ts';
import { kafkaClient } from './kafka-client.ts';
import type { EventSink, PartitionBatch } from './sink.ts';

/** Publishes to a topic of Kafka: idempotent, and acknowledged by every replica that is in sync. */
export class KafkaSink implements EventSink {
  readonly #topic: string;
  readonly #kafka: Kafka;
  /** Null before the first event, and after a failure: an idempotent producer that lost its way stays lost. */
  #producer: Producer | null = null;

  constructor(options: { clientId: string; brokers: readonly string[]; topic: string; log: Logger }) {
    this.#kafka = kafkaClient(options.clientId, options.brokers, options.log);
    this.#topic = options.topic;
  }

  async publish(batches: readonly PartitionBatch[]): Promise<void> {
    const producer = (this.#producer ??= this.#kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
    }));
    try {
      // Connecting again is free once connected.
      await producer.connect();
      await producer.send({
        topic: this.#topic,
        acks: -1,
        timeout: 10_000,
        messages: batches.flatMap(({ partition, events }) =>
          events.map(({ key, json }) => ({
            partition,
            key,
            value: json,
            headers: { 'content-type': contentType },
          })),
        ),
      });
    } catch (error) {
      this.#producer = null;
      await producer.disconnect().catch(() => undefined);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#producer?.disconnect();
  }
}
