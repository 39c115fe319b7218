import type { ResealingOptions } from '@gatehouse/secrets/resealing';
import type { SealedSecret } from './sealed-secret.ts';
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
  secrets: WebhookSecrets,
  given: Pick<ResealingOptions<SealedSecret>, 'find' | 'replace' | 'log'>,
): ResealingOptions<SealedSecret> {
  return {
    freshPrefix: secrets.freshPrefix,
    ...given,
    reseal: ({ sealed, ...found }) => {
      const place = { ...found, column: placeColumn(found.column) };
      return secrets.seal(place, secrets.open(place, sealed));
    },
  };
}
