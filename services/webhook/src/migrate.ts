import { alertTopic } from '@gatehouse/events/alert-event';
import { auditTopic } from '@gatehouse/events/audit-event';
import { migrateTopic } from '@gatehouse/events/migrate-command';
import { runCommand } from '@gatehouse/kit/command';
import { migrateServiceCommand } from '@gatehouse/service/migrate';
import { migrations } from './config.ts';

await runCommand(async () => {
  await migrateServiceCommand('webhook', migrations, process.env);
  await migrateTopic('webhook', auditTopic, process.env);
  await migrateTopic('webhook', alertTopic, process.env);
});
