import { topics } from '@gatehouse/contract/services';
import { migrateTopic } from '@gatehouse/events/migrate-command';
import { prepareDatabase } from './prepare-database.ts';
import { StartError } from './start-error.ts';

/**
 * The migration step of `make up`, in a process that ends after it: its libraries would take a third of the memory of the
 * supervisor for as long as that runs. With `ADMIN_URL` and `PASSWORDS` (of login roles, by service) it creates and migrates the
 * database, with `KAFKA_BROKERS` the topics.
 */
async function prepare({ ADMIN_URL: adminUrl, PASSWORDS: passwords, ...environment }: NodeJS.ProcessEnv) {
  if (adminUrl === undefined) return createTopics(environment);
  await prepareDatabase({
    adminUrl: (database) => Object.assign(new URL(adminUrl), { pathname: `/${database}` }).href,
    passwords: JSON.parse(passwords ?? '{}') as Record<string, string>,
  });
}

async function createTopics(environment: NodeJS.ProcessEnv): Promise<void> {
  try {
    for (const topic of Object.values(topics)) await migrateTopic('gatehouse', topic, environment);
  } catch (error) {
    const at = environment['KAFKA_BROKERS'] ?? '';
    throw new StartError(`Creating the topics in Kafka at ${at} failed: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

try {
  await prepare(process.env);
} catch (error) {
  process.stderr.write(error instanceof StartError ? error.message : String((error as Error).stack));
  process.exitCode = 1;
}
