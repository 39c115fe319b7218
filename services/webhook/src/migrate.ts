import { runCommand } from '@gatehouse/kit/command';
import { migrateServiceCommand } from '@gatehouse/shell/migrate';
import { migrations } from './config.ts';

await runCommand(() => migrateServiceCommand('webhook', migrations, process.env));
