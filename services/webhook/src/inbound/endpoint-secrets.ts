import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { SealedSecrets } from './endpoint.ts';

type Name = 'secret' | 'callback_secret';

/** Encrypts and decrypts the secrets of endpoints, each for its place only. */
export class EndpointSecrets {
  readonly #keyRing: KeyRing;

  constructor(keyRing: KeyRing) {
    this.#keyRing = keyRing;
  }

  seal(tenantId: string, id: string, secrets: { secret: string; callbackSecret: string }): SealedSecrets {
    return {
      secret: this.sealOne({ tenantId, id, name: 'secret' }, secrets.secret),
      callbackSecret: this.sealOne({ tenantId, id, name: 'callback_secret' }, secrets.callbackSecret),
    };
  }

  sealOne(place: { tenantId: string; id: string; name: Name }, secret: string): Buffer {
    return this.#keyRing.seal(Buffer.from(secret), contextOf(place));
  }

  open(place: { tenantId: string; id: string; name: Name }, sealed: Buffer): string {
    return this.#keyRing.open(sealed, contextOf(place)).toString();
  }
}

function contextOf({ tenantId, id, name }: { tenantId: string; id: string; name: Name }): string {
  return `${tenantId}/webhook.endpoints/${name}/${id}`;
}
