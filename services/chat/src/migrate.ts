import path from 'node:path';
import { migrateTopic } from '@gatehouse/events/migrate-command';
import { usageTopic } from '@gatehouse/events/run-event';
import { migrateCommand } from '@gatehouse/pg/migrate-command';

await migrateCommand('chat', path.join(import.meta.dirname, '../migrations'), process.env);
await migrateTopic('chat', usageTopic, process.env);
