import { hash, randomBytes } from 'node:crypto';
import { randomBase62 } from '@gatehouse/kit/ids';

/**
 * The text of an API key, `gwk_<id>_<secret>`. The id is public and identifies the key. Only the SHA-256 of the secret
 * leaves the process reading or creating the key.
 */
export interface KeyText {
  /** The full text, shown only once. */
  text: string;
  /** 16 base62 characters. */
  keyId: string;
  /** SHA-256 of the secret's 43 characters. */
  secretSha256: Buffer;
}

const keyIdPattern = /^[0-9A-Za-z]{16}$/;

// The id contains no underscore, so the second underscore always ends it; the secret may contain more.
const keyTextPattern = /^gwk_([0-9A-Za-z]{16})_([0-9A-Za-z_-]{43})$/;

const keyIdLength = 16;
/** 256 random bits: 43 base64url characters. */
const secretBytes = 32;

/** Splits the text of a key; returns null when it is malformed. */
export function parseKeyText(text: string): Omit<KeyText, 'text'> | null {
  const [, keyId, secret] = keyTextPattern.exec(text) ?? [];
  if (keyId === undefined || secret === undefined) return null;
  return { keyId, secretSha256: sha256(secret) };
}

/** Creates a random key; with `keyId`, a new secret for the key of this id. */
export function newKeyText(keyId: string = randomBase62(keyIdLength)): KeyText {
  const secret = randomBytes(secretBytes).toString('base64url');
  return { text: `${keyPrefix(keyId)}_${secret}`, keyId, secretSha256: sha256(secret) };
}

/** The public prefix of a key, without the secret. */
export function keyPrefix(keyId: string): string {
  return `gwk_${keyId}`;
}

export function isKeyId(text: string): boolean {
  return keyIdPattern.test(text);
}

function sha256(secret: string): Buffer {
  // `hash` costs a third of `createHash`, and this runs on every request.
  return hash('sha256', secret, 'buffer');
}
