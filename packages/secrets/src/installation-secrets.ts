import { randomBytes } from 'node:crypto';
import { generateServiceKeys, joinKeySets } from '@gatehouse/identity/keys';
import { newKeyRing } from './key-ring.ts';

/** Secrets that the services of an installation share, by the names of their settings. */
export type InstallationSecrets = Readonly<Record<string, string>>;

export interface InstallationParts {
  /** Signers of service tokens. */
  services: readonly string[];
  /** Services with a database schema and login. */
  databaseServices: readonly string[];
  /** URL of the database; its user and password are replaced by those of each service. */
  databaseUrl: string;
}

/**
 * Creates the secrets that an installation lacks: all at the first install, later those of new services. Never replaces
 * one, because the key ring opens stored values, and the passwords are also set in the database.
 */
export async function missingSecrets(
  parts: InstallationParts,
  known: InstallationSecrets,
): Promise<InstallationSecrets> {
  return {
    ...(await missingKeys(parts.services, known)),
    ...missingUrls(parts, known),
    ...(known['SECRETS_KEYRING'] === undefined ? { SECRETS_KEYRING: newKeyRing('k1') } : {}),
  };
}

/** A password without characters that a URL, a shell or an env file would change: 192 random bits. */
export function newDatabasePassword(): string {
  return randomBytes(24).toString('base64url');
}

async function missingKeys(
  services: readonly string[],
  known: InstallationSecrets,
): Promise<InstallationSecrets> {
  const nameOf = (service: string): string => `ASSERTION_PRIVATE_KEY_${service.toUpperCase()}`;
  const missing = services.filter((service) => known[nameOf(service)] === undefined);
  if (missing.length === 0) return {};
  const { privateKeys, publicKeys } = await generateServiceKeys(missing);
  const entries = Object.entries(privateKeys).map(([service, key]) => [nameOf(service), key]);
  return {
    ...(Object.fromEntries(entries) as InstallationSecrets),
    ASSERTION_PUBLIC_KEYS: joinKeySets(known['ASSERTION_PUBLIC_KEYS'] ?? '{"keys":[]}', publicKeys),
  };
}

function missingUrls(
  { databaseServices, databaseUrl }: InstallationParts,
  known: InstallationSecrets,
): InstallationSecrets {
  const entries = databaseServices.map((service): [string, string] => {
    const url = new URL(databaseUrl);
    url.username = `${service}_login`;
    url.password = newDatabasePassword();
    return [`DATABASE_URL_${service.toUpperCase()}`, url.href];
  });
  return Object.fromEntries(entries.filter(([name]) => known[name] === undefined));
}
