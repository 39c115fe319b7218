import { runCommand } from '@gatehouse/kit/command';
import { migrateCommand } from '@gatehouse/pg/migrate-command';
import { migrations } from './config.ts';

await runCommand(() => migrateCommand('analytics', migrations, process.env));
