import { fileURLToPath } from 'node:url';
import { commonSettings, databaseSettings, grpcSettings, parseConfig } from '@gatehouse/kit/config';
import { secretsSettings } from '@gatehouse/secrets/settings';
import { z } from 'zod';

const settings = z.object({ ...commonSettings, ...grpcSettings, ...databaseSettings, ...secretsSettings });

export type TenantConfig = Readonly<z.output<typeof settings>>;

export function loadConfig(environment: Record<string, string | undefined>): TenantConfig {
  return parseConfig(settings, environment);
}

/** Settings of the commands beside the service, which need the database alone. */
export function loadDatabaseConfig(
  environment: Record<string, string | undefined>,
): Pick<TenantConfig, 'DATABASE_URL'> {
  return parseConfig(z.object({ DATABASE_URL: databaseSettings.DATABASE_URL }), environment);
}

export const migrationsDirectory = fileURLToPath(new URL('../migrations', import.meta.url));
