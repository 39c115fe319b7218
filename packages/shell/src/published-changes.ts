import { topics } from '@gatehouse/contract/services';
import { Changes } from '@gatehouse/audited-changes/changes';
import { AuditOutbox } from '@gatehouse/events/store/audit-outbox-store';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { publishOutbox, type OutboxPublisherOptions } from './outbox-publisher.ts';
import type { Shell } from './shell.ts';

export interface PublishedChangesOptions {
  config: OutboxPublisherOptions['config'] & { SECRETS_KEYRING: KeyRing; TENANT_GRPC: readonly string[] };
  /** A pool of `<service>_app`, for changes of one tenant. */
  app: Pool;
  /** A pool of `<service>_system`. */
  system: Pool;
  /** The source of the events. Default: `gatehouse/<service>`, unless the service publishes others under it. */
  source?: string;
}

/**
 * Creates what executes the administrative changes of a service, and publishes their audit entries from its table
 * `audit_outbox` to the tenant service.
 */
export function publishedChanges(
  shell: Shell,
  { config, app, system, source: name }: PublishedChangesOptions,
): Changes {
  const { name: service, log } = shell;
  const outbox = new AuditOutbox(service, name);
  const { source } = outbox;
  publishOutbox(shell, {
    source,
    outbox,
    config,
    topic: topics.audit,
    watermarks: false,
    consumer: config.TENANT_GRPC,
  });
  return new Changes({
    service,
    app,
    system,
    keyRing: config.SECRETS_KEYRING,
    record: (db, entry) => outbox.add(db, entry),
    log,
  });
}
