import { alertTopic } from '@gatehouse/events/alert-event';
import { migrateTopic } from '@gatehouse/events/migrate-command';
import { usageTopic } from '@gatehouse/events/run-event';
import { runCommand } from '@gatehouse/kit/command';
import { migrateServiceCommand } from '@gatehouse/service/migrate';
import { migrations } from './config.ts';

await runCommand(async () => {
  await migrateServiceCommand('chat', migrations, process.env);
  await migrateTopic('chat', usageTopic, process.env);
  await migrateTopic('chat', alertTopic, process.env);
});
