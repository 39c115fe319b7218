import { exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from 'jose';

/**
 * Ed25519 keys of the services. The private key is a JWK with `kid` `<service>.<n>`; peers hold the JWK set of all
 * public keys. To rotate, publish `<service>.<n+1>` before the service signs with it.
 */
export interface ServiceKeys {
  /** Private JWK text by service, for `ASSERTION_PRIVATE_KEY`. */
  privateKeys: Record<string, string>;
  /** JWK set text, for `ASSERTION_PUBLIC_KEYS`. */
  publicKeys: string;
}

export const algorithm = 'EdDSA';

export async function generateServiceKeys(services: readonly string[]): Promise<ServiceKeys> {
  const privateKeys: Record<string, string> = {};
  const keys: JWK[] = [];
  for (const service of services) {
    const pair = await generateKeyPair(algorithm, { crv: 'Ed25519', extractable: true });
    const kid = `${service}.1`;
    privateKeys[service] = JSON.stringify({ ...(await exportJWK(pair.privateKey)), kid });
    keys.push({ ...(await exportJWK(pair.publicKey)), kid });
  }
  return { privateKeys, publicKeys: JSON.stringify({ keys }) };
}

/** Merges several JWK sets into one. */
export function joinKeySets(...sets: readonly string[]): string {
  return JSON.stringify({ keys: sets.flatMap((set) => (parse(set) as { keys: JWK[] }).keys) });
}

export interface SigningKey {
  key: CryptoKey;
  kid: string;
  service: string;
}

export async function importPrivateKey(text: string): Promise<SigningKey> {
  const { key, kid } = await importOne(parse(text) as JWK);
  return { key, kid, service: serviceOf(kid) };
}

/** Returns the public keys by key id. */
export async function importPublicKeys(text: string): Promise<Map<string, CryptoKey>> {
  const { keys } = parse(text) as { keys: JWK[] };
  const imported = await Promise.all(keys.map(importOne));
  return new Map(imported.map(({ key, kid }) => [kid, key]));
}

export function serviceOf(kid: string): string {
  return kid.split('.')[0] ?? '';
}

/** Like `JSON.parse`, but its error does not quote the key. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('service keys must be JSON: a JWK, or a JWK set');
  }
}

async function importOne(jwk: JWK): Promise<{ key: CryptoKey; kid: string }> {
  const key = await importJWK(jwk, algorithm);
  if (key instanceof Uint8Array || jwk.kid === undefined)
    throw new Error('a service key must be an Ed25519 JWK with a kid');
  return { key, kid: jwk.kid };
}
