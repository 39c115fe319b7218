import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { generateServiceKeys, joinKeySets } from '@gatehouse/identity/keys';
import { newKeyRing } from '@gatehouse/secrets/key-ring';
import { readJson, writePrivateJson } from './private-file.ts';

/** Secrets shared by the services and their database; created once for a state folder. */
export interface LocalSecrets {
  /** Passwords of the login roles, by service. */
  databasePasswords: Record<string, string>;
  /** `ASSERTION_PRIVATE_KEY`, by service. */
  privateKeys: Record<string, string>;
  /** `ASSERTION_PUBLIC_KEYS`. */
  publicKeys: string;
  /** `SECRETS_KEYRING`. */
  keyRing: string;
}

/** Reads the secrets, after creating missing ones: all at the first start, later those of new services. */
export async function loadSecrets(stateFolder: string, services: readonly string[]): Promise<LocalSecrets> {
  const file = path.join(stateFolder, 'secrets.json');
  // Only this function writes the file, so its shape is known.
  const known = (await readJson(file)) as LocalSecrets | undefined;
  const secrets = known ?? {
    databasePasswords: {},
    privateKeys: {},
    publicKeys: '{"keys":[]}',
    keyRing: newKeyRing('local'),
  };
  const missing = services.filter((service) => secrets.privateKeys[service] === undefined);
  if (missing.length === 0) return secrets;
  const made = await generateServiceKeys(missing);
  const complete: LocalSecrets = {
    ...secrets,
    databasePasswords: { ...passwordsFor(missing), ...secrets.databasePasswords },
    privateKeys: { ...secrets.privateKeys, ...made.privateKeys },
    publicKeys: joinKeySets(secrets.publicKeys, made.publicKeys),
  };
  await writePrivateJson(file, complete);
  return complete;
}

function passwordsFor(services: readonly string[]): Record<string, string> {
  return Object.fromEntries(services.map((service) => [service, randomBytes(24).toString('base64url')]));
}
