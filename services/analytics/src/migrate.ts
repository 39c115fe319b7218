import { runCommand } from '@gatehouse/kit/command';
import { migrateCommand } from '@gatehouse/pg/migrate-command';
import { migrationsDirectory } from './config.ts';

await runCommand(() => migrateCommand('analytics', migrationsDirectory, process.env));
