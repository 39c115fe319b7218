import { migrateCommand } from '@gatehouse/pg/migrate-command';
import { migrationsDirectory } from './config.ts';

await migrateCommand('agent', migrationsDirectory, process.env);
