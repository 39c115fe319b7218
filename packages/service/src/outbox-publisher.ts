import { DirectSink } from '@gatehouse/events/direct-sink';
import { KafkaSink } from '@gatehouse/events/kafka-sink';
import type { Outbox } from '@gatehouse/events/outbox';
import { OutboxRelay } from '@gatehouse/events/outbox-relay';
import { kafkaPlace } from '@gatehouse/events/settings';
import type { EventSink } from '@gatehouse/events/sink';
import { isMessageTooLarge } from '@gatehouse/grpc/errors';
import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from './shell.ts';

export interface OutboxPublisherOptions {
  /** The `source` of the events. */
  source: string;
  outbox: Outbox;
  /** A pool of `<service>_system` in which the relay keeps one connection, since locks of partitions are of a session. */
  pool: Pool;
  kafka: Parameters<typeof kafkaPlace>[0];
  /** Without KAFKA_PREFIX. */
  topic: string;
  /** Whether consumers need watermarks, which state up to when they have received everything. */
  watermarks: boolean;
  /** Used without Kafka: sends events to the consuming service. If unset, nothing is published without Kafka. */
  send?: (events: string[], options: { deadlineMs: number }) => Promise<unknown>;
}

/**
 * Publishes the outbox of a service to Kafka or, without Kafka, directly to the consuming service. Returns what to call
 * when something was committed to it.
 */
export function publishOutbox(shell: Shell, options: OutboxPublisherOptions): () => void {
  const { source, pool, outbox, watermarks, send } = options;
  const { log, registry, name } = shell;
  const kafka = kafkaPlace(options.kafka, options.topic);
  const publishTo = (sink: EventSink): (() => void) => {
    const relay = new OutboxRelay({ source, pool, outbox, sink, watermarks, log, registry });
    shell.add(relay);
    return () => relay.wake();
  };
  if (kafka !== null) return publishTo(new KafkaSink({ ...kafka, clientId: `gatehouse-${name}`, log }));
  if (send !== undefined) return publishTo(new DirectSink({ send, isTooLarge: isMessageTooLarge }));
  return () => undefined;
}
