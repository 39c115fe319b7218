import { sameText } from '@gatehouse/public-access/same-text';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { sealedTexts } from '@gatehouse/secrets/sealed-texts';

/** The row and column of a secret. */
export interface SecretPlace {
  tenantId: string;
  table: 'endpoints' | 'subscriptions' | 'channel_instances';
  column: 'secret' | 'callback_secret' | 'credentials' | 'access_token' | 'refresh_token';
  id: string;
}

export type WebhookSecrets = ReturnType<typeof webhookSecrets>;

/** Encrypts and decrypts the secrets of webhooks, each for its place only. */
export function webhookSecrets(keyRing: KeyRing) {
  const texts = sealedTexts(keyRing, contextOfSecret);
  /** A possibly expired secret; null without one, and if its key is no longer in the ring. */
  const openOld = (place: SecretPlace, sealed: Buffer | null): string | null => {
    try {
      return sealed === null ? null : texts.open(place, sealed);
    } catch {
      return null;
    }
  };
  return {
    ...texts,
    openOld,
    /** Whether a secret equals the stored one. */
    isSame: (place: SecretPlace, sealed: Buffer, secret: string): boolean => {
      const stored = openOld(place, sealed);
      return stored !== null && sameText(stored, secret);
    },
  };
}

/** The context of the sealed secret of a place. */
export function contextOfSecret({ tenantId, table, column, id }: SecretPlace): string {
  return `${tenantId}/webhook.${table}/${column}/${id}`;
}
