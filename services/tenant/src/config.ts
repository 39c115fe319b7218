import { fileURLToPath } from 'node:url';
import { kafkaSettings } from '@gatehouse/events/settings';
import { commonSettings, databaseSettings, grpcSettings, parseConfig } from '@gatehouse/kit/config';
import { secretsSettings } from '@gatehouse/secrets/settings';
import { z } from 'zod';

const settings = z.object({
  ...commonSettings,
  ...grpcSettings,
  ...databaseSettings,
  ...secretsSettings,
  ...kafkaSettings,
});

export type TenantConfig = Readonly<z.output<typeof settings>>;

export function loadConfig(environment: Record<string, string | undefined>): TenantConfig {
  return parseConfig(settings, environment);
}

const bootstrapSettings = z.object({ DATABASE_URL: databaseSettings.DATABASE_URL, ...kafkaSettings });

/** Settings of the command that makes the first owner key. */
export function loadBootstrapConfig(
  environment: Record<string, string | undefined>,
): Readonly<z.output<typeof bootstrapSettings>> {
  return parseConfig(bootstrapSettings, environment);
}

export const migrationsDirectory = fileURLToPath(new URL('../migrations', import.meta.url));
