import { auditTopic } from '@gatehouse/events/audit-event';
import { migrateTopic } from '@gatehouse/events/migrate-command';
import { runCommand } from '@gatehouse/kit/command';
import { migrateCommand } from '@gatehouse/pg/migrate-command';
import { migrations } from './config.ts';

await runCommand(async () => {
  await migrateCommand('agent', migrations, process.env);
  await migrateTopic('agent', auditTopic, process.env);
});
