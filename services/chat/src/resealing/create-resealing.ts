import type { Pool } from '@gatehouse/pg/pool';
import { Rewrapping } from '@gatehouse/secrets/rewrapping';
import type { SealedColumn } from '@gatehouse/secrets/store/sealed-value-system-store';
import type { Shell } from '@gatehouse/shell/shell';
import { contextOfObject } from '../batches/sealed-object.ts';
import type { ChatConfig } from '../config.ts';
import { contextOfResponse } from '../kept-responses/response-id.ts';

/** Columns with sealed values that live longer than a day. */
export const sealedColumns: readonly SealedColumn[] = [
  {
    ...{ table: 'responses', column: 'content', also: 'user_id' },
    context: ({ id, tenantId, also }) => contextOfResponse(id, { tenantId, userId: also }),
  },
  { table: 'files', column: 'content', context: contextOfObject },
  { table: 'batches', column: 'content', context: contextOfObject },
  { table: 'batches', column: 'first_id', context: contextOfObject },
];

/** Encryption of responses, files and batches, again with another key once there is one. */
export function createResealing(
  { log, registry }: Pick<Shell, 'log' | 'registry'>,
  { config, system }: { config: Pick<ChatConfig, 'SECRETS_KEYRING'>; system: Pool },
) {
  const { SECRETS_KEYRING: keyRing } = config;
  const rewrapping = new Rewrapping({
    service: 'chat',
    columns: sealedColumns,
    system,
    keyRing,
    log,
    registry,
  });
  return { parts: [rewrapping.part] };
}
