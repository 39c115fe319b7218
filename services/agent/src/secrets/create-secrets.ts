import { resealing } from '@gatehouse/secrets/resealing';
import type { Shell } from '@gatehouse/shell/shell';
import type { Ground } from '../shared/ground.ts';
import { secretsToReseal } from './resealing-job.ts';

/** Encryption of stored secrets, again with another key once there is one. */
export function createSecrets({ log }: Shell, { config, app, system }: Ground) {
  return { parts: [resealing(secretsToReseal({ app, system }, config.SECRETS_KEYRING, log))] };
}
