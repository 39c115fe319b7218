import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import type { ChatConfig } from '../config.ts';
import { dialects } from '@gatehouse/dialects/dialects';
import { expiringRows } from '../shared/expiring-rows-job.ts';
import type { Peers } from '../shared/peers.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import { StoredResponses } from './stored-response-store.ts';
import { responseHandlers } from './response-handlers.ts';

const mostOfTenant = { count: 100_000, bytes: 10 * 1024 * 1024 * 1024 };

interface Options {
  config: ChatConfig;
  app: Pool;
  system: Pool;
  settings: TenantSettingsClient;
  peers: Pick<Peers, 'retention'>;
}

/** Responses for clients to read again, go on from, and delete. */
export function createStoredResponses(
  { log, bodyBudget }: Shell,
  { config, app, system, settings, peers }: Options,
) {
  const responses = new StoredResponses({ pool: app, keyRing: config.SECRETS_KEYRING });
  return {
    responses,
    ...responseHandlers({ responses, settings, bodyBudget, format: dialects.responses.state }),
    parts: [
      expiringRows({
        ...{ pool: system, log, table: 'chat.responses', most: mostOfTenant },
        retentionDays: (tenantId) => peers.retention.daysOf(tenantId),
      }),
    ],
  };
}
