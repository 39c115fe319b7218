import { randomBytes } from 'node:crypto';
import { NIL, v7 } from 'uuid';
import { pooledRandom } from './random.ts';

/** A UUIDv7 (RFC 9562): ordered by creation time, so that it serves as primary key and cursor. */
export function newId(): string {
  return v7({ random: pooledRandom(16) });
}

/** Before every id: where a walk through them begins. */
export const beforeFirst: string = NIL;

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Uniform random base62 text; bytes at or above 248 are drawn again, since 256 is no multiple of 62. */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += base62.charAt(byte % 62);
    }
  }
  return text;
}
