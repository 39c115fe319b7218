import { hash, randomBytes } from 'node:crypto';
import { randomBase62 } from '@gatehouse/kit/ids';

/**
 * The text of an API key, `gwk_<id>_<secret>` (contract §2). The id is public and finds the key; of the secret only the
 * SHA-256 ever leaves the process that read or made the text.
 */
export interface KeyText {
  /** The full text, shown to its owner once. */
  text: string;
  /** 16 base62 characters. */
  keyId: string;
  /** SHA-256 of the secret's 43 characters. */
  secretSha256: Buffer;
}

const keyIdPattern = /^[0-9A-Za-z]{16}$/;

// The id holds no underscore, so this is the split at the first two; the secret may hold more of them.
const keyTextPattern = /^gwk_([0-9A-Za-z]{16})_([0-9A-Za-z_-]{43})$/;

const keyIdLength = 16;
/** 256 random bits: 43 base64url characters. */
const secretBytes = 32;

/** The two halves of a key's text, or null when it has not the form of one. */
export function parseKeyText(text: string): Omit<KeyText, 'text'> | null {
  const [, keyId, secret] = keyTextPattern.exec(text) ?? [];
  if (keyId === undefined || secret === undefined) return null;
  return { keyId, secretSha256: sha256(secret) };
}

/** A new random key; with `keyId`, a new secret for that key. */
export function newKeyText(keyId: string = randomBase62(keyIdLength)): KeyText {
  const secret = randomBytes(secretBytes).toString('base64url');
  return { text: `${keyPrefix(keyId)}_${secret}`, keyId, secretSha256: sha256(secret) };
}

/** What people recognise a key by: its text without the secret. */
export function keyPrefix(keyId: string): string {
  return `gwk_${keyId}`;
}

export function isKeyId(text: string): boolean {
  return keyIdPattern.test(text);
}

function sha256(secret: string): Buffer {
  // One shot: a third of what createHash costs, on every request.
  return hash('sha256', secret, 'buffer');
}
