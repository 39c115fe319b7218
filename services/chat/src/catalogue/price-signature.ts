import { createPublicKey, verify, type KeyObject } from 'node:crypto';

/** The Ed25519 key in a PEM text; null if there is none. */
export function ed25519Key(pem: string): KeyObject | null {
  try {
    const key = createPublicKey(pem);
    return key.asymmetricKeyType === 'ed25519' ? key : null;
  } catch {
    return null;
  }
}

/** Whether a signature in base64 is one of these bytes (RFC 8032, without a hash before). */
export function isSigned(bytes: Buffer, signature: string, pem: string): boolean {
  const key = ed25519Key(pem);
  return key !== null && verify(null, bytes, key, Buffer.from(signature.trim(), 'base64'));
}
