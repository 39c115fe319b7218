import { sameText } from '@gatehouse/public-access/same-text';
import type { KeyRing } from '@gatehouse/secrets/key-ring';

/** The row and column of a secret. */
export interface SecretPlace {
  tenantId: string;
  table: 'endpoints' | 'subscriptions' | 'channel_instances';
  column: 'secret' | 'callback_secret' | 'credentials' | 'access_token' | 'refresh_token';
  id: string;
}

/** Encrypts and decrypts the secrets of webhooks, each for its place only. */
export class WebhookSecrets {
  readonly #keyRing: KeyRing;

  constructor(keyRing: KeyRing) {
    this.#keyRing = keyRing;
  }

  seal(place: SecretPlace, secret: string): Buffer {
    return this.#keyRing.seal(Buffer.from(secret), contextOfSecret(place));
  }

  /** Whether a secret is the one that is stored. */
  isSame(place: SecretPlace, sealed: Buffer, secret: string): boolean {
    const stored = this.openOld(place, sealed);
    return stored !== null && sameText(stored, secret);
  }

  /** A secret that may be out of use; null without one, and if its key is no longer in the ring. */
  openOld(place: SecretPlace, sealed: Buffer | null): string | null {
    if (sealed === null) return null;
    try {
      return this.open(place, sealed);
    } catch {
      return null;
    }
  }

  open(place: SecretPlace, sealed: Buffer): string {
    return this.#keyRing.open(sealed, contextOfSecret(place)).toString();
  }
}

/** The context of the sealed secret of a place. */
export function contextOfSecret({ tenantId, table, column, id }: SecretPlace): string {
  return `${tenantId}/webhook.${table}/${column}/${id}`;
}
