import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import type { ResealingOptions } from '@gatehouse/secrets/resealing';
import { replaceSealed } from '../store/secret-store.ts';
import { findStaleSecrets, type SealedSecret } from '../store/secret-system-store.ts';
import type { WebhookSecrets } from './webhook-secrets.ts';

/** How the secrets of webhooks and channels are encrypted again. */
export function webhookSecretsToReseal(
  { app, system }: { app: Pool; system: Pool },
  secrets: WebhookSecrets,
  log: Logger,
): ResealingOptions<SealedSecret> {
  return {
    freshPrefix: secrets.freshPrefix,
    find: (prefix, limit) => findStaleSecrets(system, prefix, limit),
    reseal: ({ sealed, ...found }) => {
      // The secret before the last rotation was encrypted in the place of the secret.
      const place = {
        ...found,
        column: found.column === 'previous_secret' ? 'secret' : found.column,
      } as const;
      return secrets.seal(place, secrets.open(place, sealed));
    },
    replace: (found, again) => replaceSealed(app, found, again),
    log,
  };
}
