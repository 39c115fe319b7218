import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Pool } from '@gatehouse/pg/pool';
import { SealedValues } from '@gatehouse/secrets/sealed-values';
import type { Shell } from '@gatehouse/shell/shell';
import type { ChatConfig } from '../config.ts';
import { rewrapValues } from './resealing-job.ts';
import { countSealed, findSealed, replaceHead } from './sealed-value-system-store.ts';

const timing = { firstMs: 60_000, everyMs: 3_600_000 };

/** Encryption of responses, files and batches, again with another key once there is one. */
export function createResealing(
  { log, registry }: Shell,
  { config, system: pool }: { config: ChatConfig; system: Pool },
) {
  const { SECRETS_KEYRING: keyRing } = config;
  const { stalePrefixes } = keyRing;
  const values = new SealedValues({ registry, stalePrefixes, count: (prefix) => countSealed(pool, prefix) });
  const round = async (): Promise<boolean> => {
    const wrapped = await rewrapValues({
      ...{ keyRing, log },
      find: (some) => findSealed(pool, some),
      replace: (value, by) => replaceHead(pool, value, by),
    });
    if (wrapped > 0) log.info({ values: wrapped }, 'encrypted values with the current key');
    await values.update();
    return false;
  };
  return {
    parts: [new PeriodicWork({ task: 'encrypt values with the current key', log, ...timing, round })],
  };
}
