import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import { mostContentOfTenant } from '../bounds.ts';
import type { ChatConfig } from '../config.ts';
import { expiringRows } from '../shared/expiring-rows-job.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import { ContentQueue } from './content-queue-job.ts';
import { runContentHandlers } from './run-content-handlers.ts';

interface ContentParts {
  config: ChatConfig;
  app: Pool;
  system: Pool;
  settings: TenantSettingsClient;
}

/** Contents of runs, for tenants that store them. */
export function createRunContent({ log, registry }: Shell, { config, app, system, settings }: ContentParts) {
  const { SECRETS_KEYRING: keyRing, DRAIN_TIMEOUT_MS: drainTimeoutMs } = config;
  // The longest delay of the stop by contents waiting for the database.
  const drainMs = Math.min(drainTimeoutMs, 5_000);
  const contents = new ContentQueue({ pool: system, keyRing, log, registry, drainMs });
  const table = 'chat.run_contents';
  return {
    contents,
    rawHandlers: runContentHandlers({ app, keyRing, settings }),
    parts: [contents, expiringRows({ pool: system, log, table, most: mostContentOfTenant })],
  };
}
