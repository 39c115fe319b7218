import { services, type ServiceName } from '@gatehouse/contract/services';
import { migrateTopic } from '@gatehouse/events/migrate-command';
import { migrateJobs } from '@gatehouse/jobs/schema';
import { migrate, type MigrateOptions } from '@gatehouse/pg/migrate';
import { migrateCommand } from '@gatehouse/pg/migrate-command';

/** The migration step of a service: its own schema and, if it has jobs, the schema of its jobs. */
export function migrateService(options: MigrateOptions): Promise<void> {
  const { service } = options;
  const jobs = services.some((entry) => entry.name === service && entry.jobs === true);
  return migrate(jobs ? { ...options, also: (owner) => migrateJobs(owner, service) } : options);
}

/**
 * Runs the migration step of a service in its own process, and creates the topics it publishes or consumes. Throws
 * with the reason when it fails.
 */
export async function migrateServiceCommand(
  service: ServiceName,
  directory: string,
  environment: Record<string, string | undefined>,
): Promise<void> {
  await migrateCommand(service, directory, environment, migrateService);
  const { publishes = [], consumes = [] } = services.find(({ name }) => name === service) ?? {};
  const topics = new Set([...publishes, ...consumes]);
  for (const topic of topics) await migrateTopic(service, topic, environment);
}
