import { Batched } from '@gatehouse/kit/batched';
import type { Logger } from '@gatehouse/kit/log';
import type { Kafka, KafkaJSProtocolError, Producer } from 'kafkajs';
import { contentType } from './cloud-event.ts';
import { kafkaClient } from './kafka-client.ts';
import { RejectedBatchError, type EventSink, type PartitionBatch } from './sink.ts';

/** https://kafka.apache.org/protocol#protocol_error_codes */
const sizeErrors = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']);

/**
 * Publishes to a Kafka topic with an idempotent producer; all in-sync replicas must acknowledge. Sends one request at a
 * time, with all batches added during the previous one: after a time-out, kafkajs gives the sequence of the failed
 * request to a concurrent one. The broker takes it for a duplicate and acknowledges it without storing it.
 */
export class KafkaSink implements EventSink {
  readonly #topic: string;
  readonly #kafka: Promise<Kafka>;
  readonly #requests = new Batched<readonly PartitionBatch[], void>(async (waiting) => {
    await this.#send(waiting.flat());
    return [];
  });
  /**
   * Null before the first event and after a failure, because an idempotent producer does not recover from a failure.
   */
  #producer: Producer | null = null;

  constructor(options: { clientId: string; brokers: readonly string[]; topic: string; log: Logger }) {
    this.#kafka = kafkaClient(options.clientId, options.brokers, options.log);
    this.#topic = options.topic;
  }

  publish(batches: readonly PartitionBatch[]): Promise<void> {
    return this.#requests.get(batches);
  }

  async close(): Promise<void> {
    await this.#producer?.disconnect();
  }

  async #send(batches: readonly PartitionBatch[]): Promise<void> {
    const kafka = await this.#kafka;
    const producer = (this.#producer ??= kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
    }));
    try {
      // `connect` does nothing when already connected.
      await producer.connect();
      if (batches.length === 0) return;
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
      const answer = brokerError(error);
      if (answer === null) throw error;
      throw new RejectedBatchError(sizeErrors.has(answer.type) ? 'size' : 'partition', answer);
    }
  }
}

/** The error code in the answer of a broker, which kafkajs wraps once or twice; null when there was no answer. */
function brokerError(error: unknown): KafkaJSProtocolError | null {
  for (
    let each = Object(error) as Partial<Error>;
    each.name !== undefined;
    each = Object(each.cause) as Partial<Error>
  )
    // Compared by name, because Node cannot import the class from this CommonJS package.
    if (each.name === 'KafkaJSProtocolError') return each as KafkaJSProtocolError;
  return null;
}
