import { topics } from '@gatehouse/contract/services';
import type { AuditEntry } from '@gatehouse/contract/audit';
import type { EventIntake } from '@gatehouse/events/intake';
import type { AuditOutbox } from '@gatehouse/events/store/audit-outbox-store';
import { consumeTopic } from '@gatehouse/shell/topic-consumer';
import { publishOutbox, type OutboxPublisherOptions } from '@gatehouse/shell/outbox-publisher';
import type { Shell } from '@gatehouse/shell/shell';

export interface AuditTopicOptions {
  config: OutboxPublisherOptions['config'];
  outbox: AuditOutbox;
  intake: EventIntake<AuditEntry>;
}

/**
 * Stores the changes of all services in the audit log, and publishes those of this one where there is Kafka. They are in
 * the log already, so they are skipped when they are consumed.
 */
export function shareAuditTopic(shell: Shell, { config, outbox, intake }: AuditTopicOptions): void {
  publishOutbox(shell, { source: outbox.source, outbox, config, topic: topics.audit, watermarks: false });
  consumeTopic(shell, { topic: topics.audit, config, take: (events) => intake.take(events) });
}
