import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { Registry } from '@gatehouse/kit/metrics';
import type { KeyRing } from './key-ring.ts';
import { SealedValues, type CountSealed } from './sealed-values.ts';

/** A secret that a key has encrypted that is no longer the first of the ring. */
interface StaleSecret {
  table: string;
  id: string;
  sealed: Buffer;
}

export interface ResealingOptions<Stale extends StaleSecret> {
  /** How secrets begin that the first key of the ring has encrypted. */
  freshPrefix: Buffer;
  /** Up to `limit` of each kind that do not begin so, at random: some that can't be opened must not hide others. */
  find: (freshPrefix: Buffer, limit: number) => Promise<readonly Stale[]>;
  /** Decrypts and encrypts. Throws if the key of the secret is not in the ring. */
  reseal: (stale: Stale) => Buffer;
  /** Replaces a secret that has not changed meanwhile. */
  replace: (stale: Stale, again: Buffer) => Promise<void>;
  log: Logger;
}

const everyMs = 3_600_000;
const firstMs = 60_000;
const batch = 100;

/** One round: encrypts secrets with the first key of the ring that another one has encrypted. Returns how many. */
export async function resealSecrets<Stale extends StaleSecret>({
  freshPrefix,
  find,
  reseal,
  replace,
  log,
}: ResealingOptions<Stale>): Promise<number> {
  let resealed = 0;
  for (const stale of await find(freshPrefix, batch)) {
    let again: Buffer;
    try {
      again = reseal(stale);
    } catch (error) {
      log.error({ err: error, table: stale.table, id: stale.id }, 'failed to decrypt a secret');
      continue;
    }
    await replace(stale, again);
    resealed += 1;
  }
  return resealed;
}

/** Makes keys that are no longer the first of the ring removable. */
export function resealing<Stale extends StaleSecret>(
  options: ResealingOptions<Stale>,
  { keyRing, registry, count }: { keyRing: KeyRing; registry: Registry; count: CountSealed },
): PeriodicWork {
  const { log } = options;
  const { stalePrefixes } = keyRing;
  const values = new SealedValues({ registry, stalePrefixes, count });
  return new PeriodicWork({
    task: 'encrypt secrets with the current key',
    ...{ log, everyMs, firstMs },
    round: async () => {
      const resealed = await resealSecrets(options);
      if (resealed > 0) log.info({ secrets: resealed }, 'encrypted secrets with the current key');
      // Counted once none is left that can be sealed again.
      if (resealed === 0) await values.update();
      return resealed > 0;
    },
  });
}
