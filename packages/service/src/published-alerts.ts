import { alertTopic, type NewAlert } from '@gatehouse/events/alert-event';
import { AlertOutbox } from '@gatehouse/events/store/alert-outbox-store';
import type { Peer } from '@gatehouse/grpc/client';
import type { Queryable } from '@gatehouse/pg/pool';
import type { WebhookServiceClient } from '@gatehouse/proto/webhook/v1/webhook';
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
  config: OutboxPublisherOptions['config'],
  webhook: Peer<WebhookServiceClient>,
): PublishedAlerts {
  const outbox = new AlertOutbox(shell.name);
  const { source } = outbox;
  publishOutbox(shell, {
    source,
    outbox,
    config,
    topic: alertTopic,
    watermarks: false,
    send: (events, options) => webhook.call('notify', { source, events }, options),
  });
  return { raise: (db, alert) => outbox.add(db, alert), committed: () => outbox.committed() };
}
