import { tenantOf, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { doorHeaders, sendJsonText } from '@gatehouse/http/reply';
import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { isUuid } from '@gatehouse/kit/ids';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import { contentDays, type TenantSettings } from '../shared/tenant-settings.ts';
import { findContent } from './run-content-store.ts';
import { openContent } from './sealed-content.ts';

export interface ContentDependencies {
  /** Acts as `chat_app`. */
  app: Pool;
  keyRing: KeyRing;
  settings: TenantSettingsClient;
}

/** A content has up to 3 MiB, and is in memory as it is stored, too. */
const readsInFlight = {
  ...{ perKey: 2, slots: 8, maxWaiting: 64 },
  longestWait: {
    ms: 7_000,
    error: () =>
      new AppError('service_unavailable', 'Too many contents of runs are being read.', {
        retryAfterMs: 1_000,
      }),
  },
};

/** `GET /v1/traces/{id}/content`, for admins of the tenant and the user of the run. */
export function runContentHandlers(dependencies: ContentDependencies): Record<string, RawHandler> {
  const reads = new FairQueue(readsInFlight);
  return {
    'traces.content': (_request, response, call) =>
      reads.run(call.principal.tenantId, async () => {
        const text = await contentFor(dependencies, call);
        sendJsonText(response, 200, text, doorHeaders(call.requestId, call.dialect));
      }),
  };
}

async function contentFor({ app, keyRing, settings }: ContentDependencies, call: RawCall): Promise<Buffer> {
  const { tenantId, role, userId } = tenantOf(call);
  const id = call.params['id'] ?? '';
  const current = await settings.getNow(tenantId, call);
  const row = isUuid(id) ? await findContent(app, id, { tenantId, days: contentDays(current) }) : null;
  if (row === null || (userId !== null && row.user_id !== userId)) throw notStored(id, current);
  if (role !== 'admin' && userId === null)
    throw new AppError('role_missing', 'Only admin keys and the user of the run may read its content.');
  return openContent(keyRing, { id: id.toLowerCase(), tenantId }, row.content);
}

/** The same for a run of another tenant or user, and for one that does not exist. */
function notStored(id: string, { storesContent }: TenantSettings): AppError {
  const reason = storesContent
    ? 'It began before the setting content was "full", its retention is over, or there is no such run.'
    : 'The tenant stores none: its setting content is not "full".';
  const run = JSON.stringify(id.slice(0, 100));
  return new AppError('content_not_stored', `There is no stored content of the run ${run}. ${reason}`);
}
