import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import type { ResealingOptions } from '@gatehouse/secrets/resealing';
import { replaceSealed } from './secret-store.ts';
import { findStaleSecrets, type SealedSecret } from './secret-system-store.ts';
import type { SecretPlace, WebhookSecrets } from './webhook-secrets.ts';

/** A secret that was replaced is encrypted in the place of the one that has replaced it. */
function placeColumn(column: SealedSecret['column']): SecretPlace['column'] {
  switch (column) {
    case 'previous_secret':
      return 'secret';
    case 'previous_callback_secret':
      return 'callback_secret';
    case 'previous_credentials':
      return 'credentials';
    default:
      return column;
  }
}

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
      const place = { ...found, column: placeColumn(found.column) };
      return secrets.seal(place, secrets.open(place, sealed));
    },
    replace: (found, again) => replaceSealed(app, found, again),
    log,
  };
}
