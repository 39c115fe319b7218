import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { Shell } from '@gatehouse/shell/shell';
import { dialects } from '../dialects/dialects.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-peer.ts';
import { KeptResponses } from './kept-responses.ts';
import { ResponseCleaning } from './kept-responses-job.ts';
import { responseHandlers } from './response-handlers.ts';

/** Responses that clients may read again, go on from, and delete. */
export function createKeptResponses(
  { log }: Shell,
  { pool, keyRing, settings }: { pool: Pool; keyRing: KeyRing; settings: TenantSettingsClient },
) {
  const responses = new KeptResponses({ pool, keyRing });
  return {
    responses,
    ...responseHandlers({ responses, settings, format: dialects.responses.state }),
    parts: [new ResponseCleaning({ pool, log })],
  };
}
