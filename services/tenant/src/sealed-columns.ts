import { contextOfCounterKey } from '@gatehouse/secrets/counter-key';
import { contextOfGuardrailSecrets } from '@gatehouse/secrets/guardrail-secrets';
import { contextOfProviderKey } from '@gatehouse/secrets/provider-key';
import { rewrapValues, type Sealed } from '@gatehouse/secrets/rewrap-job';
import type { HashColumn, SealedColumn } from '@gatehouse/secrets/store/sealed-value-system-store';
import type { Shell } from '@gatehouse/shell/shell';
import { contextOfLogin } from './sessions/login.ts';
import { hashMark } from './users/user.ts';

/** Columns with sealed values that live longer than a day. */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'provider_keys', column: 'key', context: contextOfProviderKey },
  // Some are the owner's, without a tenant.
  { table: 'policies', column: 'counter_key', hasNoTenant: true, context: contextOfCounterKey },
  { table: 'guardrails', column: 'secrets', hasNoTenant: true, context: contextOfGuardrailSecrets },
  ...(['id_token', 'refresh_token'] as const).map((column) => ({
    ...{ table: 'logins', column, hasNoTenant: true as const },
    context: ({ id }: { id: string }) => contextOfLogin({ id, column }),
  })),
];

/** Blocks of deleted users. */
export const hashColumns: readonly HashColumn[] = [{ table: 'user_names', column: 'folded', mark: hashMark }];

/** The job that wraps them again with another key once there is one. */
export function rewrapColumns(shell: Shell, sealed: Omit<Sealed, 'columns' | 'hashes'>) {
  return rewrapValues(shell, { ...sealed, columns: sealedColumns, hashes: hashColumns });
}
