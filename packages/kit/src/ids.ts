import { randomBytes, randomUUIDv7 } from 'node:crypto';

/** A UUIDv7 (RFC 9562). Ids sort by creation time, so they serve as primary key and cursor. */
export function newId(): string {
  return randomUUIDv7();
}

/** Sorts before every id: the start of a walk through all ids. */
export const beforeFirst = '00000000-0000-0000-0000-000000000000';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Uniform random base62 text. Discards bytes of 248 and above, because 256 is not a multiple of 62. */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += base62.charAt(byte % 62);
    }
  }
  return text;
}
