import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

/**
 * Envelope encryption with AES-256-GCM (NIST SP 800-38D). Each value gets a fresh data key; the data key is wrapped by
 * a ring key. Rotation: put a new key first in the ring; old values stay readable until they are sealed again.
 *
 * Sealed layout, version 1: `1 | key id length | key id | wrap nonce 12 | wrapped data key 32 | wrap tag 16 |
 * nonce 12 | tag 16 | ciphertext`.
 */
export class KeyRing {
  readonly #keys: ReadonlyMap<string, Buffer>;
  readonly #current: string;

  private constructor(keys: Map<string, Buffer>, current: string) {
    this.#keys = keys;
    this.#current = current;
  }

  /**
   * Parses `SECRETS_KEYRING`: `id:base64key,id:base64key`, 32 bytes each. The first key seals; all keys open. Throws an
   * error with the id, never the key.
   */
  static parse(text: string): KeyRing {
    const keys = new Map<string, Buffer>();
    for (const entry of text.split(',').map((part) => part.trim())) {
      const [id = '', encoded = '', ...more] = entry.split(':');
      const key = Buffer.from(encoded, 'base64');
      if (!/^[A-Za-z0-9_.-]{1,32}$/.test(id))
        throw new Error(
          'each entry of the key ring must be <id>:<key> with an id of 1 to 32 letters, digits, "_", "." and "-"',
        );
      // Node's decoder ignores characters outside base64, so a typo would go unnoticed.
      if (key.length !== keyBytes || more.length > 0 || !/^[\w+/-]{43}=?$/.test(encoded))
        throw new Error(`key ${id} of the key ring must be 32 bytes of base64`);
      if (keys.has(id)) throw new Error(`key ${id} is in the key ring twice`);
      keys.set(id, key);
    }
    const [current] = keys.keys();
    if (current === undefined) throw new Error('the key ring is empty');
    return new KeyRing(keys, current);
  }

  /**
   * Encrypts `plain`. `context` (for example `tenant/table/column/id`) is authenticated but not stored, so a sealed
   * value does not open after a copy to another row or tenant.
   */
  seal(plain: Buffer, context: string): Buffer {
    return this.sealParts([plain], context);
  }

  /** Seals the parts of a value as one, without a copy of it beside the sealed one. */
  sealParts(parts: readonly Buffer[], context: string): Buffer {
    const dataKey = randomBytes(keyBytes);
    const wrapped = encrypt(this.#keyOf(this.#current), dataKey, context);
    const nonce = randomBytes(nonceBytes);
    const head = [prefixOf(this.#current), wrapped.nonce, wrapped.text, wrapped.tag, nonce];
    const tagAt = head.reduce((sum, { length }) => sum + length, 0);
    const bytes = parts.reduce((sum, { length }) => sum + length, 0);
    const sealed = Buffer.concat(head, tagAt + tagBytes + bytes);
    const cipher = createCipheriv(cipherName, dataKey, nonce).setAAD(Buffer.from(context));
    let at = tagAt + tagBytes;
    for (const piece of piecesOf(parts)) at += cipher.update(piece).copy(sealed, at);
    cipher.final();
    cipher.getAuthTag().copy(sealed, tagAt);
    return sealed;
  }

  /**
   * Decrypts a value sealed with the same context. Throws when it was modified, when the context differs, or when its
   * key is not in the ring.
   */
  open(sealed: Buffer, context: string): Buffer {
    if (sealed[0] !== version) throw new Error('not a sealed value');
    const reader = new ByteReader(sealed, 2);
    const id = reader.take(sealed[1] ?? 0).toString();
    const wrapped = {
      nonce: reader.take(nonceBytes),
      text: reader.take(keyBytes),
      tag: reader.take(tagBytes),
    };
    const body = { nonce: reader.take(nonceBytes), tag: reader.take(tagBytes), text: reader.rest() };
    return decrypt(decrypt(this.#keyOf(id), wrapped, context), body, context);
  }

  /**
   * Wraps the data key of a value again, with the first key of the ring; the value itself stays as it is. Takes the
   * value or its beginning (`headBytes`), and returns the new beginning and the length of the one it replaces.
   * Throws as `open` does.
   */
  rewrap(sealed: Buffer, context: string): { head: Buffer; replacedBytes: number } {
    if (sealed[0] !== version) throw new Error('not a sealed value');
    const reader = new ByteReader(sealed, 2);
    const id = reader.take(sealed[1] ?? 0).toString();
    const old = { nonce: reader.take(nonceBytes), text: reader.take(keyBytes), tag: reader.take(tagBytes) };
    const dataKey = decrypt(this.#keyOf(id), old, context);
    const { nonce, text, tag } = encrypt(this.#keyOf(this.#current), dataKey, context);
    return { head: Buffer.concat([prefixOf(this.#current), nonce, text, tag]), replacedBytes: reader.at };
  }

  /** Beginnings of values sealed by the other keys of the ring, by the ids of the keys. */
  get stalePrefixes(): { keyId: string; prefix: Buffer }[] {
    const ids = [...this.#keys.keys()].filter((id) => id !== this.#current);
    return ids.map((keyId) => ({ keyId, prefix: prefixOf(keyId) }));
  }

  /**
   * Keyed hashes (HMAC-SHA-256) of a text, to recognize it without making it guessable outside the key ring:
   * `<key id>:<base64url>`, the current one first. Store the current one, and look it up by all, to find it after a
   * rotation as long as its key is in the ring. `context` keeps hashes of different uses and tenants apart.
   */
  hashes(text: string, context: string): [current: string, ...older: string[]] {
    const hash = (id: string): string => hashBy(id, this.#hashKeyOf(id, context), text);
    const older = [...this.#keys.keys()].filter((id) => id !== this.#current);
    return [hash(this.#current), ...older.map(hash)];
  }

  /** Hashes of many texts of one context, as `hashes` returns them, and their check. Keys are derived when needed. */
  hasher(context: string): Hasher {
    const keys = new Map<string, Buffer>();
    const keyOf = (id: string): Buffer => {
      const key = keys.get(id) ?? this.#hashKeyOf(id, context);
      keys.set(id, key);
      return key;
    };
    return {
      hash: (text) => hashBy(this.#current, keyOf(this.#current), text),
      matches: (text, hash) => {
        const id = hash.slice(0, Math.max(0, hash.indexOf(':')));
        if (!this.#keys.has(id)) return null;
        const [expected, actual] = [Buffer.from(hashBy(id, keyOf(id), text)), Buffer.from(hash)];
        return expected.length === actual.length && timingSafeEqual(expected, actual);
      },
    };
  }

  /** Separate keys for hashing and encryption (NIST SP 800-57, part 1, 5.2). */
  #hashKeyOf(id: string, context: string): Buffer {
    const key = Buffer.from(hkdfSync('sha256', this.#keyOf(id), '', 'gatehouse hash', keyBytes));
    return createHmac('sha256', key).update(context).digest();
  }

  #keyOf(id: string): Buffer {
    const key = this.#keys.get(id);
    if (key === undefined) throw new Error(`the key ring has no key ${id}`);
    return key;
  }
}

/** Keyed hashes of the texts of one context. */
export interface Hasher {
  /** By the first key of the ring. */
  hash: (text: string) => string;
  /** Whether a hash belongs to a text, in constant time; null if its key is not in the ring. */
  matches: (text: string, hash: string) => boolean | null;
}

function hashBy(keyId: string, key: Buffer, text: string): string {
  return `${keyId}:${createHmac('sha256', key).update(text).digest('base64url')}`;
}

const version = 1;
/** Maximum bytes before a value's own nonce. */
export const headBytes = 2 + 32 + 12 + 32 + 16;

function prefixOf(keyId: string): Buffer {
  const id = Buffer.from(keyId);
  return Buffer.concat([Buffer.from([version, id.length]), id]);
}

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const cipherName = 'aes-256-gcm';

interface Box {
  nonce: Buffer;
  text: Buffer;
  tag: Buffer;
}

function encrypt(key: Buffer, plain: Buffer, context: string): Box {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(cipherName, key, nonce).setAAD(Buffer.from(context));
  const text = Buffer.concat([cipher.update(plain), cipher.final()]);
  return { nonce, text, tag: cipher.getAuthTag() };
}

function decrypt(key: Buffer, box: Box, context: string): Buffer {
  const decipher = createDecipheriv(cipherName, key, box.nonce, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(context)).setAuthTag(box.tag);
  const plain = Buffer.alloc(box.text.length);
  let at = 0;
  for (const piece of piecesOf([box.text])) at += decipher.update(piece).copy(plain, at);
  decipher.final();
  return plain;
}

/** Node's ciphers return a copy of each piece. */
const pieceBytes = 256 * 1024;

function* piecesOf(parts: readonly Buffer[]): Generator<Buffer, void> {
  for (const part of parts)
    for (let from = 0; from < part.length; from += pieceBytes) yield part.subarray(from, from + pieceBytes);
}

class ByteReader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  get at(): number {
    return this.#at;
  }

  take(length: number): Buffer {
    const part = this.#bytes.subarray(this.#at, this.#at + length);
    if (part.length !== length) throw new Error('the sealed value is truncated');
    this.#at += length;
    return part;
  }

  rest(): Buffer {
    return this.#bytes.subarray(this.#at);
  }
}

/** A new `SECRETS_KEYRING` with one random key. */
export function newKeyRing(id: string): string {
  return `${id}:${randomBytes(keyBytes).toString('base64')}`;
}
