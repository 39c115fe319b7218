import { services } from '@gatehouse/contract/services';
import { migrateJobs } from '@gatehouse/jobs/schema';
import { migrate, type MigrateOptions } from '@gatehouse/pg/migrate';
import { migrateCommand } from '@gatehouse/pg/migrate-command';

/** The migration step of a service: its own schema and, if it has jobs, that of its jobs. */
export function migrateService(options: MigrateOptions): Promise<void> {
  const { service } = options;
  const jobs = services.some((entry) => entry.name === service && entry.jobs === true);
  return migrate(jobs ? { ...options, also: (owner) => migrateJobs(owner, service) } : options);
}

/** Runs the migration step of a service in its own process. Throws with the reason when it fails. */
export function migrateServiceCommand(
  service: string,
  directory: string,
  environment: Record<string, string | undefined>,
): Promise<void> {
  return migrateCommand(service, directory, environment, migrateService);
}
