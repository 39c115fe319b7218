import { randomBytes } from 'node:crypto';
import { generateServiceKeys, joinKeySets } from '@gatehouse/identity/keys';
import { newKeyRing } from '@gatehouse/secrets/key-ring';
import type { SecretsConfig } from './config.ts';
import type { SecretEntries } from './kubernetes-secret.ts';

/**
 * Creates the entries missing in the Secret: all at the first install, later those of new services. Never replaces an
 * entry, because the key ring opens stored values, and the passwords are also set in the database.
 */
export async function missingEntries(config: SecretsConfig, known: SecretEntries): Promise<SecretEntries> {
  return {
    ...(await missingKeys(config.SERVICES, known)),
    ...missingUrls(config, known),
    ...(known['SECRETS_KEYRING'] === undefined ? { SECRETS_KEYRING: newKeyRing('k1') } : {}),
  };
}

async function missingKeys(services: readonly string[], known: SecretEntries): Promise<SecretEntries> {
  const nameOf = (service: string): string => `ASSERTION_PRIVATE_KEY_${service.toUpperCase()}`;
  const missing = services.filter((service) => known[nameOf(service)] === undefined);
  if (missing.length === 0) return {};
  const { privateKeys, publicKeys } = await generateServiceKeys(missing);
  const entries = Object.entries(privateKeys).map(([service, key]) => [nameOf(service), key]);
  return {
    ...(Object.fromEntries(entries) as SecretEntries),
    ASSERTION_PUBLIC_KEYS: joinKeySets(known['ASSERTION_PUBLIC_KEYS'] ?? '{"keys":[]}', publicKeys),
  };
}

function missingUrls(config: SecretsConfig, known: SecretEntries): SecretEntries {
  const entries = config.DATABASE_SERVICES.map((service): [string, string] => {
    const url = new URL(config.MIGRATION_DATABASE_URL);
    url.username = `${service}_login`;
    url.password = randomBytes(24).toString('base64url');
    return [`DATABASE_URL_${service.toUpperCase()}`, url.href];
  });
  return Object.fromEntries(entries.filter(([name]) => known[name] === undefined));
}
