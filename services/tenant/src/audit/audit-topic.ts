import type { AuditEntry } from '@gatehouse/contract/audit';
import { auditTopic } from '@gatehouse/events/audit-event';
import type { EventIntake } from '@gatehouse/events/intake';
import { KafkaConsumer } from '@gatehouse/events/kafka-consumer';
import { kafkaPlace } from '@gatehouse/events/settings';
import type { AuditOutbox } from '@gatehouse/events/store/audit-outbox-store';
import { publishOutbox, type OutboxPublisherOptions } from '@gatehouse/service/outbox-publisher';
import type { Shell } from '@gatehouse/service/shell';

export interface AuditTopicOptions {
  config: OutboxPublisherOptions['config'];
  outbox: AuditOutbox;
  intake: EventIntake<AuditEntry>;
}

/**
 * With Kafka: publishes the changes of this service, and stores those of all services in the audit log. Its own changes
 * are in the log already, so they are skipped when they are consumed.
 */
export function shareAuditTopic(shell: Shell, { config, outbox, intake }: AuditTopicOptions): void {
  publishOutbox(shell, { source: outbox.source, outbox, config, topic: auditTopic, watermarks: false });
  const place = kafkaPlace(config, auditTopic);
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
