import path from 'node:path';
import { migrateTopics } from '@gatehouse/events/migrate-command';
import { migrateCommand } from '@gatehouse/pg/migrate-command';

await migrateCommand('chat', path.join(import.meta.dirname, '../migrations'), process.env);
await migrateTopics('chat', process.env);
