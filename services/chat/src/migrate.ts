import { migrateTopic } from '@gatehouse/events/migrate-command';
import { usageTopic } from '@gatehouse/events/run-event';
import { runCommand } from '@gatehouse/kit/command';
import { migrateCommand } from '@gatehouse/pg/migrate-command';
import { migrations } from './config.ts';

await runCommand(async () => {
  await migrateCommand('chat', migrations, process.env);
  await migrateTopic('chat', usageTopic, process.env);
});
