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
  /** `source` of the events. */
  source: string;
  outbox: Outbox;
  /** Acts as `<service>_system`. */
  pool: Pool;
  kafka: Parameters<typeof kafkaPlace>[0];
  /** Without the operator's prefix. */
  topic: string;
  /** Whether consumers must know up to when they have received everything. */
  watermarks: boolean;
  /** Without Kafka: hands events to the service that stores them. If unset, nothing is published then. */
  send?: (events: string[], options: { deadlineMs: number }) => Promise<unknown>;
}

/** Publishes a service's outbox to Kafka, or where there is none straight to the service that stores the events. */
export function publishOutbox(shell: Shell, options: OutboxPublisherOptions): void {
  const { source, pool, outbox, watermarks, send } = options;
  const { log, registry, name } = shell;
  const kafka = kafkaPlace(options.kafka, options.topic);
  const publishTo = (sink: EventSink): void =>
    shell.add(new OutboxRelay({ source, pool, outbox, sink, watermarks, log, registry }));
  if (kafka !== null) publishTo(new KafkaSink({ ...kafka, clientId: `gatehouse-${name}`, log }));
  else if (send !== undefined) publishTo(new DirectSink({ send, isTooLarge: isMessageTooLarge }));
}
