import { services, type ServiceName, type Topic } from '@gatehouse/contract/services';
import { KafkaSink } from '@gatehouse/events/kafka-sink';
import type { Outbox } from '@gatehouse/events/outbox';
import { OutboxRelay } from '@gatehouse/events/outbox-relay';
import { partitionOf } from '@gatehouse/events/partitions';
import { kafkaPlace } from '@gatehouse/events/settings';
import type { EventSink } from '@gatehouse/events/sink';
import { createPool } from '@gatehouse/pg/pool';
import { directSink } from './direct-sink.ts';
import type { Shell } from './shell.ts';

export interface OutboxPublisherOptions {
  /** The `source` of the events, which names the locks of the relay too: no two outboxes of a service share one. */
  source: string;
  outbox: Outbox;
  config: Parameters<typeof kafkaPlace>[0] & { DATABASE_URL: string };
  /** Without KAFKA_PREFIX. */
  topic: Topic;
  /** Whether consumers need watermarks, which state up to when they have received everything. */
  watermarks: boolean;
  /** Addresses of the service consuming the topic. If unset, nothing is published without Kafka. */
  consumer?: readonly string[];
  /** The service at these addresses. Default: the first consumer of the topic. */
  consumerName?: ServiceName;
}

/**
 * Publishes the outbox of a service to Kafka or, without Kafka, directly to the consuming service. Its relay has a
 * database connection of its own, since locks of partitions are of a session. Throws if another outbox of the service has
 * the source: the relays would wait for each other's locks.
 */
export function publishOutbox(shell: Shell, options: OutboxPublisherOptions): void {
  const { source, outbox, watermarks, config } = options;
  const { log, registry, name } = shell;
  if (shell.outboxSources.has(source)) throw new Error(`two outboxes of ${name} have the source ${source}`);
  shell.outboxSources.add(source);
  const sink = eventSink(shell, options);
  if (sink === null) return;
  const pool = createPool({ url: config.DATABASE_URL, role: `${name}_system`, max: 1, log });
  shell.add({ stop: () => pool.end() });
  shell.connections.add(config.DATABASE_URL, 1);
  const relay = new OutboxRelay({ source, pool, outbox, sink, watermarks, log, registry });
  outbox.publishedBy(relay);
  shell.add(relay);
}

/** Resolves once an event of a tenant is stored durably by Kafka or by its consumer. Throws during an outage. */
export type SendEvent = (tenantId: string, json: string) => Promise<void>;

/** Sends events. The sender repeats them until it has succeeded. */
export function eventSender(shell: Shell, target: Parameters<typeof eventSink>[1]): SendEvent {
  const sink = eventSink(shell, target);
  if (sink === null) throw new Error(`no service consumes ${target.topic}`);
  shell.add({ stop: () => sink.close() });
  return (tenantId, json) =>
    sink.publish([{ partition: partitionOf(tenantId), events: [{ key: tenantId, json }] }]);
}

/**
 * The receiver of events of a topic; null without one. Close it in the end. `passesObjects`: whether a consumer in this
 * process gets events as objects where they have one.
 */
export function eventSink(
  shell: Shell,
  {
    config,
    topic,
    source,
    consumer,
    consumerName = services.find(({ consumes }) => consumes?.includes(topic))?.name,
  }: Pick<OutboxPublisherOptions, 'config' | 'topic' | 'source' | 'consumer' | 'consumerName'>,
  { passesObjects = false } = {},
): EventSink | null {
  const { name, log } = shell;
  const kafka = kafkaPlace(config, topic);
  if (kafka !== null) return new KafkaSink({ ...kafka, clientId: `gatehouse-${name}`, log });
  if (consumer === undefined || consumerName === undefined) return null;
  return directSink(shell, { source, topic, consumer, consumerName }, { passesObjects });
}
