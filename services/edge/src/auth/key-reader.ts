import type { Socket } from 'node:net';
import { parseKeyText, type KeyText } from '@gatehouse/identity/key-text';

/** A key as a request carries it. */
export type CarriedKey = Omit<KeyText, 'text'> & {
  /** Different for any two keys; it doesn't reveal the secret. */
  fingerprint: string;
};

/**
 * Reads keys out of `Authorization` headers. A client sends the same header with every request of a connection, so the
 * last key is cached per connection: parsing and hashing happen once.
 */
export class KeyReader {
  readonly #last = new WeakMap<Socket, { authorization: string; key: CarriedKey }>();

  /** Null when the header holds nothing in the form of a key. */
  read(authorization: string | undefined, connection: Socket): CarriedKey | null {
    if (authorization === undefined) return null;
    const last = this.#last.get(connection);
    if (last?.authorization === authorization) return last.key;
    const [, text = ''] = /^bearer +(\S+)$/i.exec(authorization) ?? [];
    const parsed = parseKeyText(text);
    if (parsed === null) return null;
    const key = { ...parsed, fingerprint: parsed.keyId + parsed.secretSha256.toString('base64') };
    this.#last.set(connection, { authorization, key });
    return key;
  }
}
