import { ConfigError, parseConfig } from '@gatehouse/kit/config';
import { databaseSettings } from '@gatehouse/pg/settings';
import type { InstallationParts } from '@gatehouse/secrets/installation-secrets';
import { z } from 'zod';

const names = z.string().transform((text) => text.split(',').map((name) => name.trim()));

const place = {
  /** URL of the Kubernetes API; `NODE_EXTRA_CA_CERTS` verifies its certificate. */
  KUBERNETES_API: z.url().default('https://kubernetes.default.svc'),
  /** Path of the service account token. */
  TOKEN_FILE: z.string().default('/var/run/secrets/kubernetes.io/serviceaccount/token'),
  NAMESPACE: z.string().min(1),
  SECRET_NAME: z.string().min(1),
};

const content = {
  /** Signers of service tokens. */
  SERVICES: names,
  /** Services with a database schema and login. */
  DATABASE_SERVICES: names,
  /** URL of the database. Only this step has the password of its owner. */
  MIGRATION_DATABASE_URL: databaseSettings.DATABASE_URL,
};

const commands = {
  secrets: z.object({ ...place, ...content }),
  'remove-secrets': z.object(place),
};

export type PlaceConfig = Readonly<z.output<(typeof commands)['remove-secrets']>>;
type SecretsConfig = Readonly<z.output<(typeof commands)['secrets']>>;

export type Command =
  // Adds missing entries to the Secret of an installation.
  { name: 'secrets'; config: SecretsConfig } | { name: 'remove-secrets'; config: PlaceConfig };

/** Reads the command and its settings. Throws a `ConfigError` with all problems. */
export function loadCommand(
  name: string | undefined,
  environment: Record<string, string | undefined>,
): Command {
  switch (name) {
    case 'secrets':
      return { name, config: parseConfig(commands.secrets, environment) };
    case 'remove-secrets':
      return { name, config: parseConfig(commands['remove-secrets'], environment) };
    default:
      throw new ConfigError(`The commands are ${Object.keys(commands).join(' and ')}.`);
  }
}

/** The parts of the installation that the settings name. */
export function partsOf(config: SecretsConfig): InstallationParts {
  return {
    services: config.SERVICES,
    databaseServices: config.DATABASE_SERVICES,
    databaseUrl: config.MIGRATION_DATABASE_URL,
  };
}
