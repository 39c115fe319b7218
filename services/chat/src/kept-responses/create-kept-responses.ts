import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import type { ChatConfig } from '../config.ts';
import { dialects } from '../dialects/dialects.ts';
import { KeptRowsCleaning } from '../shared/kept-rows-job.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-peer.ts';
import { KeptResponses } from './kept-response-store.ts';
import { responseHandlers } from './response-handlers.ts';

const mostOfTenant = { count: 100_000, bytes: 10 * 1024 * 1024 * 1024 };

/** Responses that clients may read again, go on from, and delete. */
export function createKeptResponses(
  { log }: Shell,
  { config, pool, settings }: { config: ChatConfig; pool: Pool; settings: TenantSettingsClient },
) {
  const responses = new KeptResponses({ pool, keyRing: config.SECRETS_KEYRING });
  return {
    responses,
    ...responseHandlers({ responses, settings, format: dialects.responses.state }),
    parts: [new KeptRowsCleaning({ pool, log, table: 'chat.responses', most: mostOfTenant })],
  };
}
