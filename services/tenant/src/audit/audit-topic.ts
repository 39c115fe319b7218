import type { AuditEntry } from '@gatehouse/contract/audit';
import { auditTopic } from '@gatehouse/events/audit-event';
import type { EventIntake } from '@gatehouse/events/intake';
import { KafkaConsumer } from '@gatehouse/events/kafka-consumer';
import { kafkaPlace } from '@gatehouse/events/settings';
import type { Pool } from '@gatehouse/pg/pool';
import { publishOutbox } from '@gatehouse/service/outbox-publisher';
import type { Shell } from '@gatehouse/service/shell';
import { auditOutbox } from './change-recorder.ts';

export interface AuditTopicOptions {
  kafka: Parameters<typeof kafkaPlace>[0];
  /** Acts as `tenant_system`. */
  pool: Pool;
  intake: EventIntake<AuditEntry>;
}

/**
 * With Kafka: publishes the changes of this service, and stores those of all services in the audit log. Its own changes
 * are in the log already, so they are skipped when they are consumed.
 */
export function shareAuditTopic(shell: Shell, { kafka, pool, intake }: AuditTopicOptions): void {
  const outbox = auditOutbox;
  publishOutbox(shell, { source: outbox.source, outbox, pool, kafka, topic: auditTopic, watermarks: false });
  const place = kafkaPlace(kafka, auditTopic);
  if (place === null) return;
  const { brokers, topic, prefix } = place;
  const { log, registry } = shell;
  const groupId = `${prefix}gatehouse-tenant`;
  shell.add(
    new KafkaConsumer({
      groupId,
      brokers,
      topic,
      handle: (messages) => intake.take(messages),
      log,
      registry,
    }),
  );
}
