import { alertTopic, type NewAlert } from '@gatehouse/events/alert-event';
import { AlertOutbox } from '@gatehouse/events/store/alert-outbox-store';
import type { Peer } from '@gatehouse/grpc/client';
import { afterCommit, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { WebhookServiceClient } from '@gatehouse/proto/webhook/v1/webhook';
import { publishOutbox, type OutboxPublisherOptions } from './outbox-publisher.ts';
import type { Shell } from './shell.ts';

export interface PublishedAlertsOptions {
  kafka: OutboxPublisherOptions['kafka'];
  /** A pool of `<service>_system`, with a connection for the relay. */
  relay: Pool;
  webhook: Peer<WebhookServiceClient>;
}

/** Stores an alert in the transaction of what it is about. */
export type RaiseAlert = (db: Queryable, alert: NewAlert) => Promise<void>;

/** Publishes the alerts of a service from its table `alert_outbox` to webhook. Returns what raises them. */
export function publishedAlerts(shell: Shell, { kafka, relay, webhook }: PublishedAlertsOptions): RaiseAlert {
  const outbox = new AlertOutbox(shell.name);
  const { source } = outbox;
  const wake = publishOutbox(shell, {
    source,
    outbox,
    pool: relay,
    kafka,
    topic: alertTopic,
    watermarks: false,
    send: (events, options) => webhook.call('notify', { source, events }, options),
  });
  return async (db, alert) => {
    await outbox.add(db, alert);
    afterCommit(db, wake);
  };
}
