import { DirectSink } from '@gatehouse/events/direct-sink';
import { KafkaSink } from '@gatehouse/events/kafka-sink';
import type { Outbox } from '@gatehouse/events/outbox';
import { OutboxRelay } from '@gatehouse/events/outbox-relay';
import { kafkaPlace } from '@gatehouse/events/settings';
import type { EventSink } from '@gatehouse/events/sink';
import { isMessageTooLarge } from '@gatehouse/grpc/errors';
import { createPool } from '@gatehouse/pg/pool';
import type { Shell } from './shell.ts';

export interface OutboxPublisherOptions {
  /** The `source` of the events. */
  source: string;
  outbox: Outbox;
  config: Parameters<typeof kafkaPlace>[0] & { DATABASE_URL: string };
  /** Without KAFKA_PREFIX. */
  topic: string;
  /** Whether consumers need watermarks, which state up to when they have received everything. */
  watermarks: boolean;
  /** Used without Kafka: sends events to the consuming service. If unset, nothing is published without Kafka. */
  send?: (events: string[], options: { deadlineMs: number }) => Promise<unknown>;
}

/**
 * Publishes the outbox of a service to Kafka or, without Kafka, directly to the consuming service. Its relay has a
 * database connection of its own, since locks of partitions are of a session.
 */
export function publishOutbox(shell: Shell, options: OutboxPublisherOptions): void {
  const { source, outbox, watermarks, config } = options;
  const { log, registry, name } = shell;
  const sink = sinkOf(shell, options);
  if (sink === null) return;
  const pool = createPool({ url: config.DATABASE_URL, role: `${name}_system`, max: 1, log });
  shell.add({ stop: () => pool.end() });
  shell.connections.add(config.DATABASE_URL, 1);
  const relay = new OutboxRelay({ source, pool, outbox, sink, watermarks, log, registry });
  outbox.publishedBy(relay);
  shell.add(relay);
}

function sinkOf({ name, log }: Shell, { config, topic, send }: OutboxPublisherOptions): EventSink | null {
  const kafka = kafkaPlace(config, topic);
  if (kafka !== null) return new KafkaSink({ ...kafka, clientId: `gatehouse-${name}`, log });
  return send === undefined ? null : new DirectSink({ send, isTooLarge: isMessageTooLarge });
}
