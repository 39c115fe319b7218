import { services } from '@gatehouse/contract/services';
import { missingSecrets, newDatabasePassword } from '@gatehouse/secrets/installation-secrets';

export interface InstallationAddress {
  /** The address that clients use. */
  publicUrl: string;
  /** The port of the gateway on this machine. */
  port: number;
  /** URL of a PostgreSQL with its owner; undefined for the one of compose.yaml. */
  databaseUrl: string | undefined;
}

/** The name, user and database of the PostgreSQL in compose.yaml. */
const composed = { host: 'postgres:5432', user: 'gatehouse', database: 'gatehouse' };

/** The text of `gatehouse.env`, with new secrets, for Docker Compose, systemd and shells. */
export async function envFileText({ publicUrl, port, databaseUrl }: InstallationAddress): Promise<string> {
  const password = newDatabasePassword();
  const ownerUrl =
    databaseUrl ?? `postgres://${composed.user}:${password}@${composed.host}/${composed.database}`;
  const secrets = await missingSecrets(
    {
      services: services.map(({ name }) => name),
      databaseServices: services.filter(({ database }) => database).map(({ name }) => name),
      databaseUrl: ownerUrl,
    },
    {},
  );
  const owner = {
    ...(databaseUrl === undefined && { POSTGRES_PASSWORD: password }),
    MIGRATION_DATABASE_URL: new URL(ownerUrl).href,
  };
  return [
    '# Settings and secrets of a Gatehouse on one machine, written by `gatehouse init`. Back this file up: only its',
    '# key ring (SECRETS_KEYRING) can decrypt what tenants have stored. Further settings: docs/operators/settings.md',
    '',
    '# Where clients reach the gateway: https, or http on this machine. Its ports on 127.0.0.1.',
    ...lines({ PUBLIC_URL: publicUrl, HTTP_PORT: String(port), ADMIN_PORT: '9090' }),
    '',
    '# Keys of providers, as models.yaml names them.',
    ...lines({ OPENAI_API_KEY: '', ANTHROPIC_API_KEY: '', GEMINI_API_KEY: '' }),
    '',
    '# The owner of the database, for the migration step alone.',
    ...lines(owner),
    '',
    '# Secrets of the services.',
    ...lines(secrets),
    '',
  ].join('\n');
}

function lines(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).map(([name, value]) => `${name}=${quoted(value)}`);
}

/** Single quotes where a reader of env files could change the text: all of them take it literally then. */
function quoted(value: string): string {
  if (/^[\w.:/@+=%-]*$/.test(value)) return value;
  // Only in a URL, which may have it escaped.
  return `'${value.replaceAll("'", '%27')}'`;
}
