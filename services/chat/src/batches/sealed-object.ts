import type { Fields } from '@gatehouse/kit/fields';
import type { KeyRing } from '@gatehouse/secrets/key-ring';

/** How a provider describes a file or a batch, encrypted: what clients put into it is theirs alone. */
export class SealedObjects {
  readonly #keyRing: KeyRing;

  constructor(keyRing: KeyRing) {
    this.#keyRing = keyRing;
  }

  seal(object: Fields, row: { id: string; tenantId: string }): Buffer {
    return this.#keyRing.seal(Buffer.from(JSON.stringify(object)), contextOfObject(row));
  }

  open(content: Buffer, row: { id: string; tenantId: string }): Fields {
    return JSON.parse(this.#keyRing.open(content, contextOfObject(row)).toString()) as Fields;
  }
}

/** Context authenticated by the encryption of a file or a batch. */
export function contextOfObject({ id, tenantId }: { id: string; tenantId: string }): string {
  return JSON.stringify(['batch', tenantId, id]);
}
