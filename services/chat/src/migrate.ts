import path from 'node:path';
import { migrateCommand } from '@gatehouse/pg/migrate-command';

await migrateCommand('chat', path.join(import.meta.dirname, '../migrations'), process.env);
