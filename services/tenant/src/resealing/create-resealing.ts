import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { contextOfProviderKey } from '@gatehouse/secrets/provider-key';
import { Rewrapping } from '@gatehouse/secrets/rewrapping';
import type { SealedColumn } from '@gatehouse/secrets/store/sealed-value-system-store';
import type { Shell } from '@gatehouse/shell/shell';
import { contextOfLogin } from '../sessions/login.ts';

/** Columns with sealed values that live longer than a day. */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'provider_keys', column: 'key', context: contextOfProviderKey },
  ...(['id_token', 'refresh_token'] as const).map((column) => ({
    ...{ table: 'logins', column, isOfAll: true as const },
    context: ({ id }: { id: string }) => contextOfLogin(id, column),
  })),
];

/** Encryption of tenants' keys for providers and of tokens of logins, again with another key once there is one. */
export function createResealing(
  { log, registry }: Pick<Shell, 'log' | 'registry'>,
  { app, system, keyRing }: { app: Pool; system: Pool; keyRing: KeyRing },
) {
  const of = { service: 'tenant', columns: sealedColumns };
  return { parts: [new Rewrapping({ ...of, app, system, keyRing, log, registry }).part] };
}
