import path from 'node:path';
import { migrateTopic } from '@gatehouse/events/migrate-command';
import { usageTopic } from '@gatehouse/events/run-event';
import { runCommand } from '@gatehouse/kit/command';
import { migrateCommand } from '@gatehouse/pg/migrate-command';

await runCommand(async () => {
  await migrateCommand('chat', path.join(import.meta.dirname, '../migrations'), process.env);
  await migrateTopic('chat', usageTopic, process.env);
});
