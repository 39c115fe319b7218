import { resealing } from '@gatehouse/secrets/resealing';
import type { Shell } from '@gatehouse/shell/shell';
import type { Ground } from '../shared/ground.ts';
import { secretsToReseal } from './resealing-job.ts';
import { countSealed } from './sealed-store.ts';

/** Encryption of stored secrets, again with another key once there is one. */
export function createSecrets({ log, registry }: Shell, { config, app, system }: Ground) {
  const { SECRETS_KEYRING: keyRing } = config;
  const count = (prefix: Buffer) => countSealed(system, prefix);
  return {
    parts: [resealing(secretsToReseal({ app, system }, keyRing, log), { keyRing, registry, count })],
  };
}
