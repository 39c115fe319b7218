import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { replaceSealed } from '../store/secret-store.ts';
import { findStaleSecrets, type SealedSecret } from '../store/secret-system-store.ts';
import type { WebhookSecrets } from './webhook-secrets.ts';

const everyMs = 3_600_000;
const firstMs = 60_000;
const batch = 100;

/** One round: encrypts secrets with the first key of the ring that another one has encrypted. Returns how many. */
export async function resealSecrets(
  { app, system }: { app: Pool; system: Pool },
  secrets: WebhookSecrets,
  log: Logger,
): Promise<number> {
  let resealed = 0;
  for (const found of await findStaleSecrets(system, secrets.freshPrefix, batch)) {
    const again = reseal(found, secrets, log);
    if (again === null) continue;
    await replaceSealed(app, found, again);
    resealed += 1;
  }
  return resealed;
}

/** Null if the key of the secret is not in the ring. */
function reseal({ sealed, ...found }: SealedSecret, secrets: WebhookSecrets, log: Logger): Buffer | null {
  // The secret before the last rotation was encrypted in the place of the secret.
  const place = { ...found, column: found.column === 'previous_secret' ? 'secret' : found.column } as const;
  try {
    return secrets.seal(place, secrets.open(place, sealed));
  } catch (error) {
    log.error({ err: error, table: found.table, id: found.id }, 'failed to decrypt a secret');
    return null;
  }
}

/** Makes keys that are no longer the first of the ring removable. */
export function resealing(
  pools: { app: Pool; system: Pool },
  secrets: WebhookSecrets,
  log: Logger,
): PeriodicWork {
  return new PeriodicWork({
    task: 'encrypt secrets with the current key',
    log,
    everyMs,
    firstMs,
    round: async () => {
      const count = await resealSecrets(pools, secrets, log);
      if (count > 0) log.info({ secrets: count }, 'encrypted secrets with the current key');
      return count > 0;
    },
  });
}
