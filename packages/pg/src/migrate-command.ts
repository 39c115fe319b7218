import { parseConfig } from '@gatehouse/kit/config';
import { z } from 'zod';
import { migrate, type MigrateOptions } from './migrate.ts';
import { databaseSettings } from './settings.ts';

const settings = z.object({
  DATABASE_URL: databaseSettings.DATABASE_URL,
  /** The same database with the owner role, which can create schemas and roles. Only the migration step uses it. */
  MIGRATION_DATABASE_URL: databaseSettings.DATABASE_URL,
});

/**
 * Runs the migration step of a service in its own process. Throws with the reason when it fails. `step` replaces
 * `migrate` where a service needs more.
 */
export async function migrateCommand(
  service: string,
  directory: string,
  environment: Record<string, string | undefined>,
  step: (options: MigrateOptions) => Promise<void> = migrate,
): Promise<void> {
  const config = parseConfig(settings, environment);
  await step({
    service,
    adminUrl: config.MIGRATION_DATABASE_URL,
    serviceUrl: config.DATABASE_URL,
    directory,
  });
}
