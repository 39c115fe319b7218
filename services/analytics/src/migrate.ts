import { migrateCommand } from '@gatehouse/pg/migrate-command';
import { migrationsDirectory } from './config.ts';

await migrateCommand('analytics', migrationsDirectory, process.env);
