import { ConfigError, parseConfig } from '@gatehouse/kit/config';
import { databaseSettings } from '@gatehouse/pg/settings';
import { z } from 'zod';

const names = z.string().transform((text) => text.split(',').map((name) => name.trim()));

const place = {
  /** The Kubernetes API, as every pod reaches it; its certificate is checked against `NODE_EXTRA_CA_CERTS`. */
  KUBERNETES_API: z.url().default('https://kubernetes.default.svc'),
  /** Where the platform mounts the service account's token. */
  TOKEN_FILE: z.string().default('/var/run/secrets/kubernetes.io/serviceaccount/token'),
  NAMESPACE: z.string().min(1),
  SECRET_NAME: z.string().min(1),
};

const content = {
  /** Who signs service tokens. */
  SERVICES: names,
  /** Who has a schema and logs in to it. */
  DATABASE_SERVICES: names,
  /** Where the database is; its owner's password goes no further than this step. */
  MIGRATION_DATABASE_URL: databaseSettings.DATABASE_URL,
};

const commands = {
  secrets: z.object({ ...place, ...content }),
  'remove-secrets': z.object(place),
};

export type PlaceConfig = Readonly<z.output<(typeof commands)['remove-secrets']>>;
export type SecretsConfig = Readonly<z.output<(typeof commands)['secrets']>>;

export type Command =
  { name: 'secrets'; config: SecretsConfig } | { name: 'remove-secrets'; config: PlaceConfig };

/** Reads which command is wanted and its settings. Throws a `ConfigError` about all that is wrong. */
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
