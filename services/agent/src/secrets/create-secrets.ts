import { Rewrapping } from '@gatehouse/secrets/rewrapping';
import type { Shell } from '@gatehouse/shell/shell';
import type { Ground } from '../shared/ground.ts';
import { contextOfSecret, sealedColumns, type SealedTable } from './sealed-column.ts';

/** Columns with sealed values that live longer than a day. */
export const sealedPlaces = (Object.keys(sealedColumns) as SealedTable[]).map((table) => ({
  ...{ table, column: sealedColumns[table] },
  context: (row: { tenantId: string; id: string }) => contextOfSecret(table, row),
}));

/** Encryption of stored secrets, again with another key once there is one. */
export function createSecrets(
  { log, registry }: Pick<Shell, 'log' | 'registry'>,
  { config, app, system }: Ground,
) {
  const { SECRETS_KEYRING: keyRing } = config;
  const of = { service: 'agent', columns: sealedPlaces };
  return { parts: [new Rewrapping({ ...of, app, system, keyRing, log, registry }).part] };
}
