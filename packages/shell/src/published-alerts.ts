import { topics } from '@gatehouse/contract/services';
import { type NewAlert } from '@gatehouse/events/alert-event';
import { AlertOutbox } from '@gatehouse/events/store/alert-outbox-store';
import type { Queryable } from '@gatehouse/pg/pool';
import { publishOutbox, type OutboxPublisherOptions } from './outbox-publisher.ts';
import type { Shell } from './shell.ts';

/** Stores an alert in the transaction of what it is about. */
export type RaiseAlert = (db: Queryable, alert: NewAlert) => Promise<void>;

export interface PublishedAlerts {
  raise: RaiseAlert;
  /** Call when statements of the service's own have committed alerts. */
  committed: () => void;
}

/** Publishes the alerts of a service from its table `alert_outbox` to webhook. */
export function publishedAlerts(
  shell: Shell,
  config: OutboxPublisherOptions['config'] & { WEBHOOK_GRPC: readonly string[] },
): PublishedAlerts {
  const outbox = new AlertOutbox(shell.name);
  const { source } = outbox;
  publishOutbox(shell, {
    source,
    outbox,
    config,
    topic: topics.alerts,
    watermarks: false,
    consumer: config.WEBHOOK_GRPC,
  });
  return { raise: (db, alert) => outbox.add(db, alert), committed: () => outbox.committed() };
}
