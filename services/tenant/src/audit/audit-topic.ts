import { auditTopic } from '@gatehouse/events/audit-event';
import { KafkaConsumer } from '@gatehouse/events/kafka-consumer';
import { KafkaSink } from '@gatehouse/events/kafka-sink';
import { Relay } from '@gatehouse/events/relay';
import { kafkaPlace } from '@gatehouse/events/settings';
import type { Part } from '@gatehouse/kit/compose';
import type { Logger } from '@gatehouse/kit/log';
import type { Registry } from '@gatehouse/kit/metrics';
import type { Pool } from '@gatehouse/pg/pool';
import { auditOutbox } from './change-recorder.ts';
import type { AuditIntake } from './intake.ts';

export interface AuditTopicTools {
  /** Acts as `tenant_system`. */
  pool: Pool;
  intake: AuditIntake;
  log: Logger;
  registry: Registry;
}

/**
 * Where there is Kafka: publishes changes made here, and takes in everybody's. Those made here come back too, and are
 * in the log already.
 */
export function auditTopicParts(
  config: Parameters<typeof kafkaPlace>[0],
  { pool, intake, log, registry }: AuditTopicTools,
): Part[] {
  const kafka = kafkaPlace(config, auditTopic);
  if (kafka === null) return [];
  const { brokers, topic, prefix } = kafka;
  return [
    new Relay({
      source: auditOutbox.source,
      pool,
      outbox: auditOutbox,
      sink: new KafkaSink({ ...kafka, clientId: 'gatehouse-tenant', log }),
      watermarks: false,
      log,
      registry,
    }),
    new KafkaConsumer({
      groupId: `${prefix}gatehouse-tenant`,
      brokers,
      topic,
      handle: (messages) => intake.take(messages),
      log,
      registry,
    }),
  ];
}
