import { parseConfig } from '@gatehouse/kit/config';
import { z } from 'zod';
import { migrate } from './migrate.ts';
import { databaseSettings } from './settings.ts';

const settings = z.object({
  DATABASE_URL: databaseSettings.DATABASE_URL,
  /** The same database as an owner that may create schemas and roles; only this step ever has it. */
  MIGRATION_DATABASE_URL: databaseSettings.DATABASE_URL,
});

/** The migration step of a service, as its own process: exits non-zero with the reason when it fails. */
export async function migrateCommand(
  service: string,
  directory: string,
  environment: Record<string, string | undefined>,
): Promise<void> {
  const config = parseConfig(settings, environment);
  await migrate({
    service,
    adminUrl: config.MIGRATION_DATABASE_URL,
    serviceUrl: config.DATABASE_URL,
    directory,
  });
}
