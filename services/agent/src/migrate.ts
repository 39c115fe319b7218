import { auditTopic } from '@gatehouse/events/audit-event';
import { migrateTopic } from '@gatehouse/events/migrate-command';
import { runCommand } from '@gatehouse/kit/command';
import { migrateCommand } from '@gatehouse/pg/migrate-command';
import { migrationsDirectory } from './config.ts';

await runCommand(async () => {
  await migrateCommand('agent', migrationsDirectory, process.env);
  await migrateTopic('agent', auditTopic, process.env);
});
